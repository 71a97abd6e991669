//! What cannot be called as the document says, because of what the document says.

/// Document, operation, and what is wrong with it. All faults of the operation are expected.
pub(crate) const FAULTS: &[(&str, &str, &str)] = &[
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/paymentinformationsepa",
        "its only media type is `applicationjson`, which is none; `application/json` is sent",
    ),
    ("heyapi-30x-case.yaml", "GET /foo", "a schema that requires itself has no value"),
    ("heyapi-31x-case.yaml", "GET /foo", "a schema that requires itself has no value"),
    (
        "pb33f-petstorev2-complete-modified.yaml",
        "POST /pet/{petId}/uploadImage",
        "the parameter's type, enum, lengths and pattern exclude each other",
    ),
    (
        "pb33f-petstorev2-complete.yaml",
        "POST /pet/{petId}/uploadImage",
        "the parameter's type, enum, lengths and pattern exclude each other",
    ),
    (
        "readme-31-schema-types.yaml",
        "PATCH /anything/quirks/polymorphism",
        "`allOf` of a text and a number has no value",
    ),
];

/// Why this operation cannot be called rightly, if it cannot.
pub(crate) fn reason(file: &str, operation: &str) -> Option<&'static str> {
    let mut faults = FAULTS.iter();
    faults.find(|known| known.0 == file && known.1 == operation).map(|known| known.2)
}
