"""Arguments that neither the documents nor the judge's own answers tell, by operationId; a list, one for each call."""
CALLS = {}
