import CLibcurl
import Glibc
import SkyrowModel

/// A transfer that an engine performs.
///
/// The engine calls the methods on its thread, where they must not block, and calls none after the end of the transfer.
protocol Transfer: AnyObject, Sendable {
    /// The server and its port, whose transfers share a bound.
    var server: String { get }

    /// The time limit of the whole transfer, with its wait for a connection.
    var timeout: Duration { get }

    /// Sets the options.
    func setUp(_ handle: inout CurlHandle) throws(CurlFault)

    /// Called before the transfer starts, with what continues it from any thread after it has paused.
    func prepare(resume: @escaping @Sendable () -> Void)

    /// Returns whether the transfer may use a connection to an address; nil is one of an unknown family.
    ///
    /// The engine asks before it connects, and before it sends a request on a connection, which may be an earlier one.
    func admits(_ address: ClientAddress?) -> Bool

    /// Called before each request of the transfer; returns whether it is sent.
    ///
    /// There is a second one when a kept connection ends without a response: libcurl repeats the request, also a POST.
    func begins() -> Bool

    /// Takes a header line, with its line break.
    func receive(header line: UnsafeRawBufferPointer)

    /// Takes a part of the response.
    func receive(_ part: UnsafeRawBufferPointer) -> TransferReceipt

    /// Supplies the next bytes to send.
    func send(into buffer: UnsafeMutableRawBufferPointer) -> TransferSupply
}

/// What a transfer does with a part of the response.
enum TransferReceipt: Hashable, Sendable {
    case taken
    /// The transfer pauses, and gets the same part when it is resumed.
    case paused
    /// The transfer fails.
    case refused
}

/// What a transfer has to send.
enum TransferSupply: Hashable, Sendable {
    /// The number of bytes that it has written to the buffer; 0 ends them.
    case bytes(Int)
    /// None yet; the transfer pauses, and is asked when it is resumed.
    case paused
    /// The transfer fails.
    case failed
}

extension Transfer {
    func prepare(resume: @escaping @Sendable () -> Void) {}
    func admits(_ address: ClientAddress?) -> Bool { true }
    func begins() -> Bool { true }
    func receive(header line: UnsafeRawBufferPointer) {}
    func receive(_ part: UnsafeRawBufferPointer) -> TransferReceipt { .taken }
    func send(into buffer: UnsafeMutableRawBufferPointer) -> TransferSupply { .bytes(0) }
}

/// The callbacks of libcurl, whose context is a ``TransferContext``.
struct TransferCallbacks {
    let read: curl_read_callback = { buffer, size, count, context in
        guard let buffer, let context = TransferContext.of(context) else { return 0 }
        return switch context.transfer.send(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) {
        case .bytes(let number): number
        case .paused: Int(CURL_READFUNC_PAUSE)
        case .failed: Int(CURL_READFUNC_ABORT)
        }
    }

    let write: curl_write_callback = { buffer, size, count, context in
        guard let buffer, let context = TransferContext.of(context) else { return 0 }
        let part = UnsafeRawBufferPointer(start: buffer, count: size * count)
        return switch context.transfer.receive(part) {
        case .taken: part.count
        case .paused: Int(CURL_WRITEFUNC_PAUSE)
        case .refused: 0
        }
    }

    let header: curl_write_callback = { buffer, size, count, context in
        guard let buffer, let context = TransferContext.of(context) else { return 0 }
        context.transfer.receive(header: UnsafeRawBufferPointer(start: buffer, count: size * count))
        return size * count
    }

    let open: curl_opensocket_callback = { context, _, address in
        guard let context = TransferContext.of(context), let address, context.transfer.admits(clientAddress(address))
        else { return CURL_SOCKET_BAD }
        // Child processes of the service do not get the socket.
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    let prerequest: curl_prereq_callback = { context, address, _, _, _ in
        guard let context = TransferContext.of(context), let address,
            context.transfer.admits(ClientAddress(String(cString: address))), context.transfer.begins()
        else { return CURL_PREREQFUNC_ABORT }
        return CURL_PREREQFUNC_OK
    }
}

/// The context of a transfer's callbacks.
final class TransferContext {
    let transfer: any Transfer

    init(_ transfer: any Transfer) { self.transfer = transfer }

    static func of(_ pointer: UnsafeMutableRawPointer?) -> TransferContext? {
        pointer.map { Unmanaged<TransferContext>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Returns the address that a socket is about to connect to; nil for another address family.
private func clientAddress(_ address: UnsafeMutablePointer<curl_sockaddr>) -> ClientAddress? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    // libcurl allocates room for an address of any family after the common prefix.
    let place = UnsafeRawPointer(address).advanced(by: offset)
    // The maximum text length including the terminator (INET6_ADDRSTRLEN).
    var text = [CChar](repeating: 0, count: 46)
    let written: UnsafePointer<CChar>?
    switch address.pointee.family {
    case AF_INET:
        var four = place.loadUnaligned(as: sockaddr_in.self).sin_addr
        written = inet_ntop(AF_INET, &four, &text, socklen_t(text.count))
    case AF_INET6:
        var six = place.loadUnaligned(as: sockaddr_in6.self).sin6_addr
        written = inet_ntop(AF_INET6, &six, &text, socklen_t(text.count))
    default:
        return nil
    }
    guard written != nil else { return nil }
    return ClientAddress(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
}
