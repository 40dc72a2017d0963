/// How an HTTP/2 connection ends without losing a request (RFC 9113, 6.8).
///
/// While requests are being served, others may be on their way. So the server first announces that it will go, with a
/// ping behind it; when the response to that has come, nothing more is on its way, and the last request can be named. When
/// the last one is answered the connection ends. A request that comes even later is beyond the named one, by which its
/// client may send it again elsewhere.
struct GoAwaySequence {
    private enum State {
        case open
        case announced
        case named
        case ended
    }

    /// What is to be sent.
    enum Step: Hashable {
        /// GOAWAY that names no request yet, and a ping.
        case announce
        /// GOAWAY that names the last request.
        case nameLast
        /// The same, and the end.
        case end
    }

    private var state = State.open

    var isOpen: Bool { state == .open }
    /// Whether the client has not yet acknowledged the announcement.
    var isAnnounced: Bool { state == .announced }

    mutating func begin(openStreams: Int) -> Step? {
        guard state == .open else { return nil }
        state = openStreams == 0 ? .ended : .announced
        return openStreams == 0 ? .end : .announce
    }

    /// The client has acknowledged the announcement, or has had the time to.
    mutating func announcementArrived() -> Step? {
        guard state == .announced else { return nil }
        state = .named
        return .nameLast
    }

    mutating func streamClosed(openStreams: Int) -> Step? {
        guard state == .announced || state == .named, openStreams == 0 else { return nil }
        state = .ended
        return .end
    }
}
