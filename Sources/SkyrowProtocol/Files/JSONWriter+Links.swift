package import SkyrowJSON
import SkyrowModel

extension JSONWriter {
    /// Writes a result that was kept as text, in which files get their addresses now.
    ///
    /// Only this service writes `$type` before `$name`: PostgreSQL sorts the members of `jsonb` by their names and puts a space
    /// behind each colon. So a file inside a JSON value of a client, which anybody may name, gets no address.
    ///
    /// - Parameter text: valid JSON, written without ``links``.
    package func json(linking text: UnsafeRawBufferPointer) {
        separate()
        var rest = UnsafeRawBufferPointer(rebasing: text[...])
        func copy(_ count: Int) {
            append(UnsafeRawBufferPointer(rebasing: rest[..<count]).assumingMemoryBound(to: UInt8.self))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        guard let links else { return copy(rest.count) }
        while let name = rest.nextFileName {
            // With the quotation mark behind it.
            let bytes = UnsafeRawBufferPointer(rebasing: rest[name])
            copy(name.upperBound + 1)
            guard AssetName(String(decoding: bytes, as: UTF8.self)) != nil else { continue }
            append(",\"$url\":\"")
            links.withAddress(of: bytes) { append($0.assumingMemoryBound(to: UInt8.self)) }
            append("\"")
        }
        copy(rest.count)
    }
}

extension UnsafeRawBufferPointer {
    /// The beginning of a file as the service writes it.
    private static let beginning = Array("{\"$type\":\"asset\",\"$name\":\"".utf8)

    /// The place of the next name of a file, which is the last member of its object.
    fileprivate var nextFileName: Range<Int>? {
        let beginning = Self.beginning
        var place = startIndex
        // No byte but the first of the beginning is a brace.
        while let start = self[place...].firstIndex(of: beginning[0]) {
            place = start + 1
            guard self[start...].starts(with: beginning) else { continue }
            let first = start + beginning.count
            guard let end = self[first...].firstIndex(of: UInt8(ascii: "\"")), end + 1 < endIndex,
                self[end + 1] == UInt8(ascii: "}")
            else { continue }
            return first..<end
        }
        return nil
    }
}
