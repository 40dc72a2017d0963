import NIOCore
import NIOHTTP1
import SkyrowTestSupport

@testable import SkyrowHTTP

/// The lifecycle of a request whose client, service and clock are drawn at random, with real accounts of body memory.
///
/// What comes out is carried out as a connection would. What never may happen is noted in `fault`.
struct RequestSchedule {
    /// How a request ended.
    enum Outcome: Hashable {
        case response
        case refusal(HTTPFault)
        case aborted
        case dropped
    }

    static let limits = HTTPLimits(body: 300_000, bodiesInMemory: 1_000_000, smallBody: 1000)

    let memory = BodyMemory(RequestSchedule.limits)
    private(set) var lifecycle: RequestLifecycle
    private(set) var outcomes: [Outcome] = []
    private(set) var fault: String?
    private var random: SeededGenerator
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var hold: BodyHold?
    /// The memory of a collected body, as long as the service works on it.
    private var workHold: BodyHold?
    private var works = false
    private var isCancelled = false
    private var isReady = false
    private var bodyHasEnded = false
    private var hasBegunResponse = false
    private var isWritable = true
    private var largestBuffer = 0
    private var events: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let isStreamed = Bool.random(using: &random)
        let limit = [5000, 200_000].randomElement(using: &random) ?? 5000
        let limits = RequestSchedule.limits
        lifecycle = RequestLifecycle(isStreamed ? .streamed(limit: limit) : .collected(limit: limit), limits, now: now)
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")
        head.headers.add(name: "host", value: "x")
        switch Int.random(in: 0..<6, using: &random) {
        case 0: break
        case 1: head.headers.add(name: "transfer-encoding", value: "chunked")
        case 2: head.headers.add(name: "expect", value: "something")
        default:
            let length = [10, 1500, 4000, 100_000, 300_000].randomElement(using: &random) ?? 10
            head.headers.add(name: "content-length", value: "\(length)")
        }
        let examination = HeadExamination(head, bodyLimit: lifecycle.limit, hasBody: Bool.random(using: &random))
        note("\(isStreamed ? "streamed" : "collected"), \(head.headers)")
        perform(lifecycle.begin(examination, limits))
    }

    var history: String { events.suffix(40).joined(separator: "\n") }

    // MARK: - Events

    mutating func step() {
        let limits = RequestSchedule.limits
        switch Int.random(in: 0..<24, using: &random) {
        case 0..<6: receive()
        case 6:
            note("pause")
            perform(lifecycle.paused())
        case 7 where lifecycle.received > 0 || Int.random(in: 0..<10, using: &random) == 0:
            note("end of the body")
            perform(lifecycle.bodyEnded(waits: Bool.random(using: &random)))
        case 8..<11: start()
        case 11..<14: take()
        case 14, 15: respond()
        case 16, 17: produce()
        case 18: endWork(succeeded: Int.random(in: 0..<4, using: &random) > 0)
        case 19:
            isWritable.toggle()
            note("writable: \(isWritable)")
            lifecycle.writabilityChanged(isWritable)
        case 20, 21: wait(.milliseconds(Int64.random(in: 1...9000, using: &random)), limits)
        case 22 where Int.random(in: 0..<12, using: &random) == 0: leave()
        default: break
        }
        check()
    }

    private mutating func receive() {
        // A connection does not read for a service that has enough.
        guard !lifecycle.isFull else { return }
        let bytes = [1, 700, 3000, 60_000].randomElement(using: &random) ?? 1
        note("\(bytes) bytes")
        perform(lifecycle.received(bytes, RequestSchedule.limits))
        largestBuffer = max(largestBuffer, lifecycle.buffered)
    }

    private mutating func start() {
        guard isReady, !works, lifecycle.output == .waiting else { return }
        note("start")
        works = true
        lifecycle.started(at: now, RequestSchedule.limits)
        if !lifecycle.isStreamed {
            workHold = hold
            hold = nil
        }
    }

    private mutating func take() {
        guard works, !isCancelled, lifecycle.output != .ended, lifecycle.buffered > 0 else { return }
        let bytes = Int.random(in: 1...lifecycle.buffered, using: &random)
        note("the service takes \(bytes)")
        lifecycle.taken(bytes)
        hold?.release(bytes)
    }

    private mutating func respond() {
        guard works, !hasBegunResponse, Int.random(in: 0..<3, using: &random) == 0 else { return }
        if Bool.random(using: &random) {
            note("a response of bytes")
            perform(lifecycle.responded())
            endWork(succeeded: true)
        } else {
            let length = Bool.random(using: &random) ? 5000 : nil
            note("a response in parts, of \(length.map(String.init) ?? "some") bytes")
            hasBegunResponse = true
            perform(lifecycle.responded(streaming: length))
        }
    }

    private mutating func produce() {
        guard works, hasBegunResponse, isWritable else { return }
        note("a part of the response")
        perform(lifecycle.produced(Int.random(in: 0...2500, using: &random)))
    }

    /// The service returns, with the rest of its response if parts of it have left.
    private mutating func endWork(succeeded: Bool) {
        guard works, hasBegunResponse || lifecycle.output == .ended else { return }
        note("the work ends: \(succeeded)")
        works = false
        workHold?.release()
        workHold = nil
        if hasBegunResponse { perform(lifecycle.responseEnded(succeeded: succeeded && !isCancelled)) }
    }

    private mutating func wait(_ time: TimeAmount, _ limits: HTTPLimits) {
        now = now + time
        note("\(time.nanoseconds / 1_000_000) ms later")
        perform(lifecycle.check(now: now, isReadHeldBack: lifecycle.isFull, limits))
    }

    private mutating func leave() {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            note("the client leaves")
            perform(lifecycle.clientLeft())
        case 1:
            note("the client closes its side")
            perform(lifecycle.inputClosed())
        default:
            note("what comes is malformed")
            perform(lifecycle.inputFailed(.malformed))
        }
    }

    /// Lets client and service do nothing more but what they must; returns what is wrong at the end.
    mutating func finish() -> String? {
        for _ in 0..<60 {
            start()
            if isCancelled || lifecycle.output == .ended { endWork(succeeded: false) }
            wait(.seconds(5), RequestSchedule.limits)
            check()
        }
        // A request that waits for its turn, or for a client to read, ends with its connection.
        if lifecycle.output == .streaming, !isWritable { perform(lifecycle.clientLeft()) }
        if lifecycle.output == .ended { endWork(succeeded: false) }
        if works, !isCancelled, outcomes.isEmpty { return "the work was neither cancelled nor responded" }
        if let fault { return fault }
        if outcomes.count != 1 { return "\(outcomes.count) outcomes: \(outcomes)" }
        return memory.bytes == 0 ? nil : "\(memory.bytes) bytes of bodies are left"
    }

    // MARK: - Actions

    private mutating func perform(_ action: RequestLifecycle.Action?) {
        guard let action else { return }
        note("-> \(action)")
        if !outcomes.isEmpty { fault = fault ?? "\(action) after the end" }
        switch action {
        case .claim(let claim):
            perform(lifecycle.claimed(take(claim)))
        case .ready:
            if isReady { fault = fault ?? "ready twice" }
            isReady = true
        case .endBody:
            if bodyHasEnded { fault = fault ?? "the body ends twice" }
            bodyHasEnded = true
        case .write:
            break
        case .cancel:
            if isCancelled || !works { fault = fault ?? "cancelled twice, or without work" }
            isCancelled = true
        case .finish: end(.response)
        case .refuse(let reason):
            if hasBegunResponse { fault = fault ?? "refused behind the head of a response" }
            end(.refusal(reason))
        case .abort: end(.aborted)
        case .drop: end(.dropped)
        }
    }

    private mutating func take(_ claim: RequestLifecycle.Claim) -> HTTPFault? {
        switch claim {
        case .judged(let bytes, let expected):
            if hold != nil { fault = fault ?? "judged twice" }
            let standing = [RequestStanding.accepted, .unverified, .missing].randomElement(using: &random) ?? .accepted
            let small = RequestSchedule.limits.smallBody
            if standing == .missing, expected > small { return .credentialsRequired }
            let limit = standing == .missing ? small : .max
            var hold = BodyHold(memory, pool: standing == .accepted ? .accepted : .unverified, usage: nil, limit: limit)
            if let fault = hold.take(bytes) { return fault }
            self.hold = hold
        case .whole(let bytes):
            var hold = BodyHold(memory, pool: .accepted, usage: nil)
            if let fault = hold.take(bytes) { return fault }
            self.hold = hold
        case .more(let bytes):
            if hold == nil { fault = fault ?? "more, and nothing was judged" }
            return hold?.take(bytes)
        }
        return nil
    }

    private mutating func end(_ outcome: Outcome) {
        outcomes.append(outcome)
        hold?.release()
        hold = nil
    }

    private mutating func check() {
        guard fault == nil else { return }
        let held = (hold?.bytes ?? 0) + (workHold?.bytes ?? 0)
        if memory.bytes != held { fault = "\(memory.bytes) bytes are taken, and \(held) are held" }
        if lifecycle.isStreamed, outcomes.isEmpty, held != lifecycle.buffered {
            fault = "\(held) bytes are held for \(lifecycle.buffered) in the buffer"
        }
        if outcomes.count > 1 { fault = "\(outcomes)" }
        // One part may cross the line.
        if largestBuffer > RequestLifecycle.window + 60_000 { fault = "\(largestBuffer) bytes in the buffer" }
        if lifecycle.output == .ended, outcomes.isEmpty { fault = "ended without an outcome" }
    }

    private mutating func note(_ event: String) {
        events.append(event)
    }
}
