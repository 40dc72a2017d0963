import NIOCore
import NIOHTTP1
import SkyrowModel

extension HTTPResponse {
    /// Writes the head as HTTP/1.1 bytes.
    ///
    /// - Parameter keepsAlive: Whether the connection stays open; `false` announces its end to the client.
    func writeHead(into buffer: inout ByteBuffer, date: [UInt8], keepsAlive: Bool, version: HTTPVersion) {
        if status == .ok {
            buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
        } else {
            buffer.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
        }
        if status.mayHaveResponseBody { writeBodyFields(into: &buffer, version: version) }
        buffer.writeBytes(date)
        if cacheControl == nil {
            buffer.writeBytes(HTTPResponse.commonLines)
        } else {
            for field in commonFields { buffer.write(field) }
        }
        if !keepsAlive {
            buffer.writeStaticString("connection: close\r\n")
        } else if version.minor == 0 {
            buffer.writeStaticString("connection: keep-alive\r\n")
        }
        for field in fields { buffer.write(field) }
        buffer.writeStaticString("\r\n")
    }

    private func writeBodyFields(into buffer: inout ByteBuffer, version: HTTPVersion) {
        let length = body.length
        if length != 0 {
            if contentType == .json {
                buffer.writeStaticString("content-type: application/json\r\n")
            } else {
                buffer.writeString("content-type: \(contentType.name)\r\n")
            }
        }
        if let length {
            buffer.writeStaticString("content-length: ")
            buffer.writeDecimal(length)
            buffer.writeStaticString("\r\n")
        } else if version.minor > 0 {
            buffer.writeStaticString("transfer-encoding: chunked\r\n")
        }
    }

    /// The fields of every response: no cache stores a caller's response unless it says so, and no browser interprets a record as
    /// a page.
    var commonFields: [HTTPField] {
        cacheControl.map { HTTPResponse.commonFields(cacheControl: $0) } ?? HTTPResponse.usualFields
    }

    private static func commonFields(cacheControl: String) -> [HTTPField] {
        [
            HTTPField("server", "Skyrow"), HTTPField("cache-control", cacheControl),
            HTTPField("x-content-type-options", "nosniff"),
        ]
    }

    private static let usualFields = commonFields(cacheControl: "no-store")
    private static let commonLines = usualFields.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }

    /// The approximate size of the head in bytes.
    var headSize: Int { 256 + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } }
}

extension ByteBuffer {
    /// Writes the line of a field at once, since each write to a buffer has a cost.
    fileprivate mutating func write(_ field: HTTPField) {
        let value = field.plainValue
        let length = field.name.utf8.count + 2 + value.utf8.count + 2
        writeWithUnsafeMutableBytes(minimumWritableBytes: length) { target in
            var end = 0
            func append(_ bytes: UnsafeBufferPointer<UInt8>) {
                guard let start = bytes.baseAddress else { return }
                UnsafeMutableRawBufferPointer(rebasing: target[end..<(end + bytes.count)])
                    .copyMemory(from: UnsafeRawBufferPointer(start: start, count: bytes.count))
                end += bytes.count
            }
            field.name.withBytes(append)
            ": ".withBytes(append)
            value.withBytes(append)
            "\r\n".withBytes(append)
            return end
        }
    }

    fileprivate mutating func writeDecimal(_ number: Int) {
        // Up to 19 digits without a sign, since lengths are not negative.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = number
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            writeBytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[start...]))
        }
    }
}
