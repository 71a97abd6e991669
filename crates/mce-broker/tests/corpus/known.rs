//! What cannot be called as the document says, because of what the document says.

const LOKET: &str = "its only media type is `applicationjson`, which is none; `application/json` is sent";
const EMPTY: &str = "an empty text in a path, which would name another resource, is refused";
const ITSELF: &str = "a schema that requires itself has no value";
const LIST: &str = "a list as a form has no names for its fields";
const EXCLUDE: &str = "the type, enum, lengths and pattern of a parameter exclude each other";
const BOTH: &str = "`allOf` of a text and a number has no value";

/// Document, operation, and what is wrong with it. All faults of the operation are expected.
pub(crate) const FAULTS: &[(&str, &str, &str)] = &[
    (
        "apisguru-linode.com.json",
        "POST /networking/firewalls",
        "the pattern of a required text admits fewer characters than its least length",
    ),
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/attachmentsofearnings",
        LOKET,
    ),
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/paymentinformationnonsepa",
        LOKET,
    ),
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/paymentinformationsepa",
        LOKET,
    ),
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/paymentinformationsepaseparatepayments",
        LOKET,
    ),
    (
        "apisguru-loket.nl.json",
        "POST /providers/employers/employees/employments/{employmentId}/protectedearnings",
        LOKET,
    ),
    ("autorest-url.json", "GET /paths/byte/empty/{bytePath}", EMPTY),
    ("autorest-url.json", "GET /paths/string/empty/{stringPath}", EMPTY),
    ("heyapi-30x-case.yaml", "GET /foo", ITSELF),
    ("heyapi-30x-full.yaml", "PUT /api/v{api-version}/non-ascii-æøåÆØÅöôêÊ字符串", LIST),
    ("heyapi-31x-case.yaml", "GET /foo", ITSELF),
    ("heyapi-31x-full.yaml", "PUT /api/v{api-version}/non-ascii-æøåÆØÅöôêÊ字符串", LIST),
    ("pb33f-petstorev2-complete-modified.yaml", "POST /pet/{petId}/uploadImage", EXCLUDE),
    ("pb33f-petstorev2-complete.yaml", "POST /pet/{petId}/uploadImage", EXCLUDE),
    ("readme-30-circular-request-bodies.yaml", "POST /direct", ITSELF),
    ("readme-31-schema-types.yaml", "PATCH /anything/quirks/polymorphism", BOTH),
    ("readme-31-schema-types.yaml", "PUT /anything/quirks/polymorphism", BOTH),
];

/// Why this operation cannot be called rightly, if it cannot.
pub(crate) fn reason(file: &str, operation: &str) -> Option<&'static str> {
    let mut faults = FAULTS.iter();
    faults.find(|known| known.0 == file && known.1 == operation).map(|known| known.2)
}
