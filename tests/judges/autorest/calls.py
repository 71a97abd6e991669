"""Arguments that neither the documents nor the judge's own answers tell: from the sources of its routes.

By `METHOD /path` of the document, or `DOCUMENT METHOD /path` where several have that; a list, one item for each call.
"""

MULTIBYTE = "5ZWK6b2E5LiC54ub54uc76ex76Ss76ex76iM76ip"
DURATION = "P123DT22H14M12.011S"
RFC1123 = "Fri, 01 Jan 2010 12:34:56 GMT"
ARRAY = ["ArrayQuery1", "begin!*'();:@ &=+$,/?#[]end", "", ""]
FILE = {"text": "hello", "filename": "hello.txt"}
PDF = {"text": "PDF", "content_type": "application/pdf"}
HELLO = {"hello": "world"}
KEY = "1c88a67921784300a462b2cb61da2339"

# Name of the type, scenario and value; `None` is not sent. The same scenarios are asked for of answers.
HEADERS = [
    ("integer", "positive", 1), ("integer", "negative", -2),
    ("long", "positive", 105), ("long", "negative", -2),
    ("float", "positive", 0.07), ("float", "negative", -3.0),
    ("double", "positive", 7e120), ("double", "negative", -3.0),
    ("bool", "true", True), ("bool", "false", False),
    ("string", "valid", "The quick brown fox jumps over the lazy dog"), ("string", "null", None), ("string", "empty", ""),
    ("enum", "valid", "GREY"), ("enum", "null", None),
    ("date", "valid", "2010-01-01"), ("date", "min", "0001-01-01"),
    ("datetime", "valid", "2010-01-01T12:34:56Z"), ("datetime", "min", "0001-01-01T00:00:00Z"),
    ("datetimerfc1123", "valid", RFC1123), ("datetimerfc1123", "min", "Mon, 01 Jan 0001 00:00:00 GMT"),
    ("duration", "valid", DURATION), ("byte", "valid", MULTIBYTE),
]

PRODUCT = {
    "base_product_id": "123",
    "base_product_description": "product description",
    "details": {"max_product_display_name": "max name", "max_product_capacity": "Large", "max_product_image": {"@odata.value": "http://foo"}},
}
RESOURCES = {
    "Resource1": {"location": "West US", "tags": {"tag1": "value1", "tag2": "value3"}, "properties": {"p.name": "Product1", "type": "Flat"}},
    "Resource2": {"location": "Building 44", "properties": {"p.name": "Product2", "type": "Flat"}},
}
PUPPY = {"id": 1, "name": "Puppy", "birthdate": "2017-12-13T02:29:51Z", "complexProperty": {"color": "Red"}}
SIBLINGS = [
    {"fishtype": "shark", "age": 6, "birthday": "2012-01-05T01:00:00Z", "length": 20.0, "species": "predator"},
    {"fishtype": "sawshark", "age": 105, "birthday": "1900-01-05T01:00:00Z", "length": 10.0, "picture": "//////4=", "species": "dangerous"},
    {"fishtype": "goblin", "age": 1, "birthday": "2015-08-08T00:00:00Z", "length": 30.0, "species": "scary", "jawsize": 5, "color": "pinkish-gray"},
]
SALMON = {"fishtype": "salmon", "location": "alaska", "iswild": True, "species": "king", "length": 1.0, "siblings": SIBLINGS}
# Of arrays the judge compares the clock, of dictionaries the moment.
TIMES = ["2000-12-01T00:00:01Z", "1980-01-02T00:11:35Z", "1492-10-12T10:15:01Z"]


def body(*values):
    return [{"body": value} for value in values]


CALLS = {
    "PUT /additionalProperties/true": body(PUPPY),
    "PUT /additionalProperties/true-subclass": body(PUPPY | {"name": "Lisa", "friendly": True}),
    "PUT /additionalProperties/type/object": body({"id": 2, "name": "Hira", "siblings": [PUPPY], "picture": "//////4="}),
    "PUT /additionalProperties/type/string": body({"id": 3, "name": "Tommy", "color": "red", "weight": "10 kg", "city": "Bombay"}),
    "PUT /additionalProperties/in/properties": body({"id": 4, "name": "Bunny", "additionalProperties": {"height": 5.61, "weight": 599, "footsize": 11.5}}),
    "PUT /additionalProperties/in/properties/with/additionalProperties/string": body({
        "id": 5, "name": "Funny", "@odata.location": "westus", "color": "red", "city": "Seattle", "food": "tikka masala",
        "additionalProperties": {"height": 5.61, "weight": 599, "footsize": 11.5}}),
    "PUT /anything/object": body({"foo": "bar"}),
    "PUT /array/prim/date-time/valid": body(TIMES),
    "PUT /array/prim/duration/valid": body([DURATION, "P5DT1H"]),
    "POST /binary/file": body({"more": "cowbell"}),
    "PUT /binary/octet": body(FILE),
    "PUT /complex/basic/valid": [{"body": {"id": 2, "name": "abc", "color": "Magenta"}, "api-version": "2016-02-29"}],
    "PUT /complex/primitive/string": body({"field": "goodrequest", "empty": ""}),
    "PUT /complex/polymorphism/missingdiscriminator": body(SALMON),
    "PUT /complex/readonlyproperty/valid": body({"size": 2}),
    "PUT /datetimerfc1123/max": body("Fri, 31 Dec 9999 23:59:59 GMT"),
    "PUT /datetime/max/utc": body("9999-12-31T23:59:59.999Z"),
    "PUT /datetime/max/utc7ms": body("9999-12-31T23:59:59.9999999Z"),
    "PUT /datetime/max/localpositiveoffset": body("9999-12-31T23:59:59.999+14:00"),
    "PUT /datetime/max/localnegativeoffset": body("9999-12-31T23:59:59.999-14:00"),
    "PUT /dictionary/prim/date-time/valid": body({"0": "2000-12-01T00:00:01Z", "1": "1980-01-01T23:11:35Z", "2": "1492-10-12T18:15:01Z"}),
    "PUT /duration/positiveduration": body(DURATION),
    "POST /formsdataurlencoded/pet/add/{petId}": [{"petId": 1, "body": {"pet_type": "dog", "pet_food": "meat", "name": "Fido", "pet_age": 42}}],
    "POST /formsdataurlencoded/partialConstantBody": body({"grant_type": "access_token", "access_token": "foo", "service": "bar"}),
    "PUT /formdata/stream/uploadfile": body(FILE),
    "POST /formdata/stream/uploadfile": body({"fileContent": FILE, "fileName": "hello.txt"}),
    "POST /formdata/stream/uploadfiles": body({"fileContent": [FILE, FILE]}),
    "PUT /int/max/32": body(2**31 - 1),
    "PUT /int/max/64": body(2**63 - 1),
    "PUT /int/min/32": body(-(2**31)),
    "PUT /int/min/64": body(-(2**63)),
    "PUT /string/enum/ReferencedConstant": body({"ColorConstant": "green-color"}),
    "PUT /time/put": body("08:07:56"),
    "GET /extensibleenums/pet/{petId}": [{"petId": name} for name in ("tommy", "casper", "scooby")],
    "POST /extensibleenums/pet/addPet": body({"name": "Retriever", "IntEnum": "2", "DaysOfExtensibleEnum": "Friday"}),
    "POST /mediatypes/analyze": body({"source": "foo"}, PDF),
    "POST /mediatypes/analyzeNoAccept": body({"source": "foo"}, PDF),
    "POST /mediatypes/contentTypeWithEncoding": body("hello"),
    "POST /mediatypes/binaryBodyTwoContentTypes": body({"text": '{"hello":"world"}', "content_type": "application/json"}, FILE),
    "POST /mediatypes/binaryBodyThreeContentTypes": body({"text": '{"hello":"world"}', "content_type": "application/json"}, FILE),
    "POST /mediatypes/bodyThreeTypes": body(HELLO, FILE),
    "PATCH /mergePatchJson/single": body({"foo": "bar"}),
    "PUT /model-flatten/array": body([{"location": "West US", "tags": {"tag1": "value1", "tag2": "value3"}}, {"location": "Building 44"}]),
    "PUT /model-flatten/wrappedarray": [],  # The judge never answers.
    "PUT /model-flatten/dictionary": body(RESOURCES),
    "PUT /model-flatten/resourcecollection": body({
        "arrayofresources": [RESOURCES["Resource1"], RESOURCES["Resource2"] | {"location": "East US"}],
        "dictionaryofresources": RESOURCES,
        "productresource": {"location": "India", "properties": {"p.name": "Azure", "type": "Flat"}}}),
    "PUT /model-flatten/customFlattening": body({**PRODUCT, "details": {**PRODUCT["details"], "max_product_image": {"@odata.value": "http://foo", "generic_value": "https://generic"}}}),
    "POST /model-flatten/customFlattening": body(PRODUCT),
    "PUT /model-flatten/customFlattening/parametergrouping/{name}/": [{"name": "groupproduct", "body": PRODUCT}],
    "PUT /multipleInheritance/pet": body({"name": "Butter"}),
    "PUT /multipleInheritance/horse": body({"name": "General", "isAShowHorse": False}),
    "PUT /multipleInheritance/feline": body({"meows": False, "hisses": True}),
    "PUT /multipleInheritance/cat": body({"name": "Boots", "likesMilk": False, "meows": True, "hisses": False}),
    "PUT /multipleInheritance/kitten": body({"name": "Kitty", "likesMilk": False, "meows": True, "hisses": False, "eatsMiceYet": True}),
    "PUT /nonStringEnums/int/put": body(200),
    "PUT /nonStringEnums/float/put": body(200.4),
    "PUT /objectType/put": body({"foo": "bar"}, {"foo": "baz"}),
    "PUT /reqopt/explicit/required/binary-body": body(FILE),
    "PUT /reservedWords/operationGroup/import": [{"parameter1": "foo"}],
    "PUT /reservedWords/operation/content": body({"text": "hello, world"}),
    "PUT /reservedWords/operation/json": body(HELLO),
    "PUT /reservedWords/operation/data": body({"data": "hello", "world": "world"}),
    "PUT /reservedWords/operation/files": body({"files": FILE, "fileName": "hello.txt"}),
    "GET /reservedWords/{url}": [{"url": "foo", "headerParameters": "x", "queryParameters": ["one", "two"]}],
    "GET /reservedWords/enum": [{"enumParameter": "import"}],
    "GET /paths/enum/green%20color/{enumPath}": [{"enumPath": "green color"}],
    "GET /paths/byte/multibyte/{bytePath}": [{"bytePath": MULTIBYTE}],
    "GET /paths/string/bG9yZW0/{base64UrlPath}": [{"base64UrlPath": "bG9yZW0"}],
    "GET /paths/int/1460505600/{unixTimeUrlPath}": [{"unixTimeUrlPath": 1460505600}],
    "GET /paths/array/ArrayPath1%2cbegin%21%2A%27%28%29%3B%3A%40%20%26%3D%2B%24%2C%2F%3F%23%5B%5Dend%2c%2c/{arrayPath}":
        [{"arrayPath": ["ArrayPath1", "begin!*'();:@ &=+$,/?#[]end", "", ""]}],
    "GET /queries/enum/green%20color": [{"enumQuery": "green color"}],
    "GET /queries/byte/multibyte": [{"byteQuery": MULTIBYTE}],
    "GET /queries/array/csv/string/empty": [{"arrayQuery": []}],
    "GET /queries/array/none/string/empty": [{"arrayQuery": ["hello", "nihao", "bonjour"]}],
    **{f"GET /queries/array/{style}/string/valid": [{"arrayQuery": ARRAY}] for style in ("csv", "ssv", "tsv", "pipes", "multi")},
    "POST /validation/constantsInPath/{constantParam}/value": [{
        "constantParam": "constant",
        "body": {"constString": "constant", "constInt": 0, "constStringAsEnum": "constant_string_as_enum",
                 "child": {"constProperty": "constant"}, "constChild": {"constProperty": "constant", "constProperty2": "constant2"}}}],
    "GET /errorStatusCodes/Pets/{petId}/GetPet": [{"petId": p} for p in ("tommy", "django", "coyoteUgly", "weirdAlYankovic", "ringo", "alien123")],
    "POST /errorStatusCodes/Pets/doSomething/{whatAction}": [{"whatAction": action} for action in ("stay", "jump", "fetch")],
    "POST /errorStatusCodes/Pets/hasModelsParam": [{"models": "value1"}],
    "PUT /xml/jsoninput": body({"id": 42}),
    "GET /customuri/{subscriptionId}/{keyName}": [{"subscriptionId": "test12", "keyName": "key1", "keyVersion": "v1"}],
    "GET /paging/maxPageSize": [{}],
    "POST /header/param/existingkey": [{"User-Agent": "overwrite"}],
    **{f"POST /header/param/prim/{kind}": [{"scenario": s} | ({} if v is None else {"value": v}) for k, s, v in HEADERS if k == kind] for kind, _, _ in HEADERS},
    **{f"POST /header/response/prim/{kind}": [{"scenario": s} for k, s, _ in HEADERS if k == kind] for kind, _, _ in HEADERS},
    "multiapi-v0 GET /multiapi/one/testTwoEndpoint": [{"api-version": "1.0.0"}],
    "multiapi-v1 GET /multiapi/one/testTwoEndpoint": [{"api-version": "1.0.0"}],
    "PUT /multiapi/one/testThreeEndpoint": [{"api-version": "2.0.0"}],
    "PUT /multiapi/two/testFiveEndpoint": [{"api-version": "3.0.0"}],
    "multiapi-v1 PUT /multiapi/testOneEndpoint": [{"id": 1, "message": "x", "api-version": "1.0.0"}],
    "multiapi-v2 PUT /multiapi/testOneEndpoint": [{"id": 1, "message": "x", "api-version": "2.0.0"}],
    "multiapi-v2 GET /multiapi/one/testTwoEndpoint": [{"api-version": "2.0.0", "body": {"id": 1}}],
    "multiapi-v3 GET /multiapi/one/testTwoEndpoint": [{"api-version": "3.0.0", "body": {"id": 1}}],
    "multiapi-v2 POST /multiapi/two/testFourEndpoint": [{"api-version": "2.0.0", "parameterOne": True}],
    "multiapi-v3 POST /multiapi/two/testFourEndpoint": [{"api-version": "3.0.0", "body": {"source": "foo"}}, {"api-version": "3.0.0", "body": PDF}],
    "multiapi-v1 GET /multiapi/testDifferentCalls": [{"api-version": "1.0.0", "greetingInEnglish": "hello"}],
    "multiapi-v2 GET /multiapi/testDifferentCalls": [{"api-version": "2.0.0", "greetingInEnglish": "hello", "greetingInChinese": "nihao"}],
    "multiapi-v3 GET /multiapi/testDifferentCalls":
        [{"api-version": "3.0.0", "greetingInEnglish": "hello", "greetingInChinese": "nihao", "greetingInFrench": "bonjour"}],
    "multiapi-v1-custom-base-url PUT /test": [{"id": 1, "api-version": "1.0.0"}],
    "multiapi-v2-custom-base-url PUT /test": [{"id": 2, "api-version": "2.0.0"}],
}


def path_items():
    """Each of the paths names the query parameters that it wants, in the order global, path item, local; `null` is not sent."""
    start = "GET /pathitem/nullable/globalStringPath/{globalStringPath}/pathItemStringPath/{pathItemStringPath}/localStringPath/{localStringPath}/"
    names = ("globalStringQuery", "pathItemStringQuery", "localStringQuery")
    path = {"globalStringPath": "globalStringPath", "pathItemStringPath": "pathItemStringPath", "localStringPath": "localStringPath"}
    for wanted in ((1, 1, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0)):
        texts = [name if is_wanted else "null" for name, is_wanted in zip(names, wanted)]
        yield start + "/".join(texts), [path | {name: name for name, is_wanted in zip(names, wanted) if is_wanted}]


CALLS.update(path_items())

# What `mce.yaml` says of a document's server, besides its base URL.
SERVERS = {
    "security-key": {"credentials": {"AzureKey": "123456789"}},
    "security-aad": {"credentials": {"AADToken": "https://security.microsoft.com/.default"}},
    "header": {"extra_headers": {"x-ms-client-request-id": "9C4D50EE-2D56-4CD3-8152-34347DC9F2B0"}},
    "error-with-secrets": {"credentials": {"SharedKey": f"SharedKey {KEY}"}},
}
# Paths of base URLs that the documents give in an extension of AutoRest.
BASE_PATHS = {"multiapi-v1-custom-base-url": "/multiapiCustomBaseUrl/v1", "multiapi-v2-custom-base-url": "/multiapiCustomBaseUrl/v2"}
