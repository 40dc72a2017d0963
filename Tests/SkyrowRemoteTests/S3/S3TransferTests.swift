import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowRemote

/// How a transfer waits for its reader and for its body, without a server.
@Suite struct S3TransferTests {
    private func transfer(_ request: S3Request) throws -> S3Transfer {
        let bucket = S3Bucket(
            "files",
            at: "https://s3.example.org",
            region: "x",
            accessKey: "key",
            secretKey: "secret"
        )
        let time = SigningTime(Timestamp(microseconds: 0))
        return S3Transfer(request, to: try #require(bucket), payload: SigV4.unsigned, at: time, timeout: patience)
    }

    private func download() throws -> S3Transfer {
        let transfer = try transfer(S3Request(.get, "app/a", range: 0..<1_000_000))
        head(transfer, "HTTP/1.1 206 Partial Content\r\n", "ETag: \"x\"\r\n", "\r\n")
        return transfer
    }

    private func head(_ transfer: S3Transfer, _ lines: String...) {
        for line in lines { Array(line.utf8).withUnsafeBytes { transfer.receive(header: $0) } }
    }

    private func receive(_ transfer: S3Transfer, _ bytes: [UInt8]) -> TransferReceipt {
        bytes.withUnsafeBytes { transfer.receive($0) }
    }

    @Test func aFullTransferPausesUntilItsReaderReads() async throws {
        let transfer = try download()
        let resumed = Counter()
        transfer.prepare { resumed.increment() }
        let part = [UInt8](repeating: 7, count: 16_384)
        var taken = 0
        while receive(transfer, part) == .taken { taken += part.count }
        #expect(taken == S3Transfer.capacity)
        // The same part, which libcurl keeps.
        #expect(receive(transfer, part) == .paused && resumed.value == 0)
        let read = await transfer.next()
        #expect(read?.count == taken && resumed.value == 1)
        #expect(receive(transfer, part) == .taken)
        let next = await transfer.next()
        #expect(next == part && resumed.value == 1)
        _ = transfer.end()
        let last = await transfer.next()
        #expect(last == nil)
    }

    @Test func theReaderOfACancelledTaskEnds() async throws {
        let transfer = try download()
        let reader = Task { await transfer.next() }
        reader.cancel()
        let part = await reader.value
        #expect(part == nil)
    }

    @Test func onlyTheBytesOfARangeArePassedOn() async throws {
        let transfer = try transfer(S3Request(.get, "app/a", range: 0..<10))
        head(transfer, "HTTP/1.1 100 Continue\r\n", "A: b\r\n", "\r\n")
        head(transfer, "HTTP/1.1 403 Forbidden\r\n", "X-Amz-Y:  z \r\n", "\r\n")
        #expect(receive(transfer, Array("<Error/>".utf8)) == .taken)
        let response = transfer.end()
        #expect(response.status == 403 && response.bytes == Array("<Error/>".utf8))
        #expect(response.fields == ["x-amz-y": "z "])
        let part = await transfer.next()
        #expect(part == nil)
    }

    @Test func aResponseInMemoryHasBoundedLength() throws {
        let transfer = try transfer(S3Request(.list))
        head(transfer, "HTTP/1.1 200 OK\r\n")
        let part = [UInt8](repeating: 0x20, count: S3XML.maximumBytes)
        #expect(receive(transfer, part) == .taken)
        #expect(receive(transfer, [0x20]) == .refused)
    }

    // MARK: The body

    private final class Source: Sendable {
        let orders = Mutex<[(offset: Int64, count: Int, done: @Sendable ([UInt8]?) -> Void)]>([])

        func body(_ length: Int64) -> S3Body {
            S3Body(length: length) { offset, count, done in
                self.orders.withLock { $0.append((offset, count, done)) }
            }
        }

        /// Answers the only order.
        func answer(_ bytes: [UInt8]?) -> (offset: Int64, count: Int)? {
            let order = orders.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            order?.done(bytes)
            return order.map { ($0.offset, $0.count) }
        }
    }

    private func send(_ transfer: S3Transfer, _ room: Int) -> (TransferSupply, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: room)
        let supply = buffer.withUnsafeMutableBytes { transfer.send(into: $0) }
        guard case .bytes(let count) = supply else { return (supply, []) }
        return (supply, Array(buffer.prefix(count)))
    }

    @Test func aTransferPausesWhileItsBodyIsRead() throws {
        let source = Source()
        let length: Int64 = 128 * 1024 + 3
        let transfer = try transfer(S3Request(.put, "app/a", body: source.body(length)))
        let resumed = Counter()
        transfer.prepare { resumed.increment() }
        #expect(send(transfer, 16).0 == .paused)
        // libcurl may ask before it is resumed.
        #expect(send(transfer, 16).0 == .paused)
        let first = source.answer([UInt8](repeating: 1, count: 128 * 1024))
        #expect(first?.offset == 0 && first?.count == 128 * 1024 && resumed.value == 1)
        var sent = 0
        while true {
            let (supply, bytes) = send(transfer, 50_000)
            guard supply != .paused else { break }
            #expect(bytes.allSatisfy { $0 == 1 })
            sent += bytes.count
        }
        #expect(sent == 128 * 1024)
        let second = source.answer([2, 2, 2])
        #expect(second?.offset == 128 * 1024 && second?.count == 3 && resumed.value == 2)
        #expect(send(transfer, 16).1 == [2, 2, 2])
        #expect(send(transfer, 16).0 == .bytes(0))
        #expect(source.answer(nil) == nil)
    }

    @Test(arguments: [nil, []] as [[UInt8]?]) func aBodyThatCannotBeReadEndsTheTransfer(_ part: [UInt8]?) throws {
        let source = Source()
        let transfer = try transfer(S3Request(.put, "app/a", body: source.body(10)))
        #expect(send(transfer, 16).0 == .paused)
        _ = source.answer(part)
        #expect(send(transfer, 16).0 == .failed)
    }

    @Test func aBodyInMemoryIsThereAtOnce() throws {
        let transfer = try transfer(S3Request(.completeUpload, "app/a", body: S3Body([1, 2, 3])))
        #expect(send(transfer, 2).0 == .paused)
        #expect(send(transfer, 2).1 == [1, 2])
        #expect(send(transfer, 2).1 == [3])
        #expect(send(transfer, 2).0 == .bytes(0))
        let empty = try self.transfer(S3Request(.createUpload, "app/a", body: S3Body([])))
        #expect(send(empty, 2).0 == .bytes(0))
    }
}
