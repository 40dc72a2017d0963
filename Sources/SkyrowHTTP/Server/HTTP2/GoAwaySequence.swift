/// The shutdown of an HTTP/2 connection without losing a request (RFC 9113, 6.8).
///
/// More requests may be on their way while others are served. The server therefore first announces the shutdown with a GOAWAY and
/// a ping. When the ping is acknowledged, no earlier request is on its way, and a second GOAWAY names the last one. The
/// connection ends when the last request is answered. The client may send any request after the named one again elsewhere.
struct GoAwaySequence {
    private enum State {
        case open
        case announced
        case named
        case ended
    }

    /// The frames to send.
    enum Step: Hashable {
        /// GOAWAY that names no request yet, and a ping.
        case announce
        /// GOAWAY that names the last request.
        case nameLast
        /// GOAWAY that names the last request, and the end.
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

    /// Notes that the client has acknowledged the announcement, or has had the time to.
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
