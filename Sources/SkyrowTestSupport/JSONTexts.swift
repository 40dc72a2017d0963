package import SkyrowJSON

/// Parses a text and calls `body` with its root, for tests of its contents.
package func readJSON<R>(_ text: String, _ body: (JSONView) throws -> R) throws -> R {
    try JSONDocument(Array(text.utf8)).withRoot { view throws(any Error) in try body(view) }
}

/// Returns the text that a closure writes.
package func writtenJSON(_ body: (JSONWriter) -> Void) -> String {
    let writer = JSONWriter(capacity: 1)
    body(writer)
    return String(decoding: writer.bytes, as: UTF8.self)
}
