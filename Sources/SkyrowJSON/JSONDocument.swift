/// A parsed JSON text with its bytes.
///
/// ```swift
/// let document = try JSONDocument(body)
/// let name = document.withRoot { $0["name"]?.string }
/// ```
package struct JSONDocument: Sendable {
    /// The most nested containers that a request may have.
    package static let defaultDepthLimit = 64

    private let text: [UInt8]
    private let tape: [UInt64]

    /// Checks the bytes against RFC 8259 and keeps them, sharing their storage.
    package init(_ text: [UInt8], depthLimit: Int = JSONDocument.defaultDepthLimit) throws(JSONParseError) {
        self.text = text
        tape = try text.withUnsafeBufferPointer { bytes throws(JSONParseError) in
            try makeTape(of: UnsafeRawBufferPointer(bytes), depthLimit: depthLimit)
        }
    }

    /// Passes the outermost value to a closure; views must not leave the closure.
    package func withRoot<R, E: Error>(_ body: (JSONView) throws(E) -> R) throws(E) -> R {
        try text.withUnsafeBufferPointer { bytes throws(E) in
            try tape.withUnsafeBufferPointer { words throws(E) in
                try body(JSONView(text: bytes, tape: words))
            }
        }
    }

    /// Parses a text in place, without a copy, and passes its outermost value to a closure; views must not leave the closure.
    ///
    /// Only parsing throws; errors in the contents of a request are part of the closure's result.
    ///
    /// ```swift
    /// let request = try JSONDocument.read(body) { root in
    ///     Result { () throws(SkyrowError) in try SaveRequest(parameters: root) }
    /// }
    /// ```
    package static func read<R>(
        _ text: UnsafeRawBufferPointer,
        depthLimit: Int = JSONDocument.defaultDepthLimit,
        _ body: (JSONView) -> R
    ) throws(JSONParseError) -> R {
        let tape = try makeTape(of: text, depthLimit: depthLimit)
        return tape.withUnsafeBufferPointer { words in
            body(JSONView(text: text.assumingMemoryBound(to: UInt8.self), tape: words))
        }
    }
}

/// Parses into a tape of a likely length, and continues in a longer one if it was too short.
private func makeTape(of text: UnsafeRawBufferPointer, depthLimit: Int) throws(JSONParseError) -> [UInt64] {
    var parser = try JSONParser(text: text, depthLimit: depthLimit)
    var tape: [UInt64] = []
    // Requests and responses have a word for every 8 to 12 bytes of text.
    var capacity = text.count / 6 + 16
    while true {
        var step: Result<Bool, JSONParseError> = .success(false)
        let longer = [UInt64](unsafeUninitializedCapacity: capacity) { words, count in
            for (index, word) in tape.enumerated() { words[index] = word }
            step = Result { () throws(JSONParseError) in try parser.run(into: words) }
            count = parser.wordCount
        }
        if try step.get() { return longer }
        tape = longer
        capacity *= 2
    }
}
