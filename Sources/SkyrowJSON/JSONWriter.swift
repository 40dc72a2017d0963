package import SkyrowModel

/// Writes JSON into a growing buffer, and adds the commas.
///
/// ```swift
/// let writer = JSONWriter()
/// writer.beginObject()
/// writer.key("count")
/// writer.integer(3)
/// writer.endObject()                         // {"count":3}
/// writer.withUnsafeBytes { buffer.writeBytes($0) }
/// ```
///
/// The caller must balance what it begins, and write a key before each value of an object. A writer is for one thread at a time;
/// `removeAll` keeps the memory for the next result.
///
/// Methods that append a few bytes are inlinable: SkyrowProtocol writes the forms of records and values byte by byte, and a call for
/// each would cost more than the copy.
package final class JSONWriter {
    /// Behind a pointer, because each access to a member of a class is checked for exclusivity.
    @usableFromInline
    struct Storage {
        @usableFromInline var bytes: UnsafeMutablePointer<UInt8>
        @usableFromInline var count: Int
        @usableFromInline var capacity: Int
    }

    @usableFromInline let storage: UnsafeMutablePointer<Storage>
    /// The account that limits the text, if any; see JSONWriter+Bound.
    package let account: ResponseAccount?
    /// Makes the member `$url` of files; nil for a text without addresses.
    package var links: (any AssetLinks)?
    var bound = Bound()

    /// - Parameter account: the account that memory is taken from as the text grows.
    package init(capacity: Int = 1024, account: ResponseAccount? = nil) {
        self.account = account
        let capacity = max(capacity, 64)
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(bytes: .allocate(capacity: capacity), count: 0, capacity: capacity))
    }

    deinit {
        storage.pointee.bytes.deallocate()
        storage.deallocate()
    }

    /// The number of bytes written.
    package var count: Int { storage.pointee.count }

    /// Passes the bytes written to a closure.
    package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: storage.pointee.bytes, count: storage.pointee.count))
    }

    /// The bytes written, copied.
    package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// The bytes written, as a text that is known to be JSON.
    package var jsonText: JSONText { JSONText(validated: bytes) }

    /// Removes what was written and keeps the memory, unless it is more than `limit` bytes.
    package func removeAll(keepingAtMost limit: Int = 64 * 1024) {
        storage.pointee.count = 0
        guard storage.pointee.capacity > limit else { return }
        storage.pointee.bytes.deallocate()
        storage.pointee.bytes = .allocate(capacity: limit)
        storage.pointee.capacity = limit
    }

    /// Removes what was written after the first `count` bytes.
    package func truncate(to count: Int) {
        precondition((0...storage.pointee.count).contains(count), "A writer can only be truncated to a length it has.")
        storage.pointee.count = count
    }

    // MARK: Raw bytes

    /// Returns room for `length` more bytes; `advance` takes the number of bytes used.
    @inlinable @inline(__always)
    package func reserve(_ length: Int) -> UnsafeMutablePointer<UInt8> {
        if storage.pointee.capacity - storage.pointee.count < length { grow(by: length) }
        return storage.pointee.bytes + storage.pointee.count
    }

    @inlinable @inline(__always)
    package func advance(_ length: Int) {
        storage.pointee.count += length
    }

    @usableFromInline @inline(never)
    func grow(by length: Int) {
        let needed = storage.pointee.count + length
        let capacity = storage.pointee.capacity
        let wanted = max(needed, capacity < JSONWriter.doublingLimit ? capacity * 2 : capacity + capacity / 4)
        if let granted = grant(needed: needed, wanted: wanted) {
            enlarge(to: granted)
        } else {
            // The text is not sent, so the excess overwrites itself in the existing memory.
            storage.pointee.count = bound.start
            if capacity - bound.start < length { enlarge(to: bound.start + length) }
        }
    }

    private func enlarge(to capacity: Int) {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        bytes.update(from: storage.pointee.bytes, count: storage.pointee.count)
        storage.pointee.bytes.deallocate()
        storage.pointee.bytes = bytes
        storage.pointee.capacity = capacity
    }

    /// Above this size a growing text leaves less unused memory behind.
    private static let doublingLimit = 4 << 20

    /// Transfers the memory to the caller, who must deallocate it, and starts with new memory.
    package func release() -> (memory: UnsafeMutableRawBufferPointer, count: Int) {
        let memory = UnsafeMutableRawBufferPointer(start: storage.pointee.bytes, count: storage.pointee.capacity)
        let count = storage.pointee.count
        storage.pointee = Storage(bytes: .allocate(capacity: 64), count: 0, capacity: 64)
        return (memory, count)
    }

    @inlinable @inline(__always)
    package func append(_ byte: UInt8) {
        reserve(1)[0] = byte
        advance(1)
    }

    @inlinable @inline(__always)
    package func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count).update(from: start, count: bytes.count)
        advance(bytes.count)
    }

    @inlinable @inline(__always)
    package func append(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        advance(text.utf8CodeUnitCount)
    }

    /// Writes the comma before a value or key, except at the start and after an opening bracket or a colon.
    ///
    /// No complete value ends in one of these three bytes, so the last byte decides.
    @inlinable @inline(__always)
    package func separate() {
        let count = storage.pointee.count
        guard count > 0 else { return }
        switch storage.pointee.bytes[count - 1] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): return
        default: append(UInt8(ascii: ","))
        }
    }

    // MARK: Structure

    package func beginObject() {
        separate()
        append(UInt8(ascii: "{"))
    }

    package func endObject() {
        append(UInt8(ascii: "}"))
    }

    package func beginArray() {
        separate()
        append(UInt8(ascii: "["))
    }

    package func endArray() {
        append(UInt8(ascii: "]"))
    }

    /// Writes a key that needs no escapes.
    package func key(_ name: StaticString) {
        separate()
        append(UInt8(ascii: "\""))
        append(name)
        append("\":")
    }

    /// Writes a key with escapes. A literal is the key of the method above, or its length and bytes would be examined each time.
    @_disfavoredOverload
    package func key(_ name: String) {
        string(name)
        append(UInt8(ascii: ":"))
    }

    @inlinable @inline(__always)
    package func key(_ key: BorrowedKey) {
        separate()
        append(key.encoded.assumingMemoryBound(to: UInt8.self))
    }

    // MARK: Scalars

    package func null() {
        separate()
        append("null")
    }

    package func boolean(_ value: Bool) {
        separate()
        if value { append("true") } else { append("false") }
    }

    /// Writes a string that needs no escapes.
    package func string(_ text: StaticString) {
        separate()
        append(UInt8(ascii: "\""))
        append(text)
        append(UInt8(ascii: "\""))
    }

    package func string(_ text: String) {
        var text = text
        text.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Writes a string from UTF-8 that is known to be valid.
    package func string(utf8: UnsafeRawBufferPointer) {
        separate()
        append(UInt8(ascii: "\""))
        escaped(utf8)
        append(UInt8(ascii: "\""))
    }

    /// Writes an array of strings.
    package func strings(_ texts: [String]) {
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    /// Writes a JSON text as it is.
    package func json(_ text: JSONText) {
        separate()
        text.utf8.withUnsafeBufferPointer { append($0) }
    }

    /// Writes a JSON text as it is, which is known to be valid and without white space around it.
    package func json(validated text: UnsafeRawBufferPointer) {
        separate()
        append(text.assumingMemoryBound(to: UInt8.self))
    }

    /// Writes the bytes of a string with the escapes that JSON requires, without quotes.
    package func escaped(_ utf8: UnsafeRawBufferPointer) {
        guard let start = utf8.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        let end = start + utf8.count
        var p = start
        while true {
            let stop = skipUnescapedBytes(p, end: end)
            append(UnsafeBufferPointer(start: p, count: stop - p))
            if stop == end { return }
            escape(stop[0])
            p = stop + 1
        }
    }

    private func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        default:
            append("\\u00")
            append(Hexadecimal.digit(byte >> 4))
            append(Hexadecimal.digit(byte & 0x0F))
        }
    }
}
