package import SkyrowJSON

/// Reads a text and lends its root, for tests that are about what stands in it.
package func readJSON<R>(_ text: String, _ body: (JSONView) throws -> R) throws -> R {
    try JSONDocument(Array(text.utf8)).withRoot { view throws(any Error) in try body(view) }
}

/// What a closure writes, as text.
package func writtenJSON(_ body: (JSONWriter) -> Void) -> String {
    let writer = JSONWriter(capacity: 1)
    body(writer)
    return String(decoding: writer.bytes, as: UTF8.self)
}
