import NIOCore
import NIOEmbedded
import NIOWebSocket
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What the frames of a client come to.
@Suite struct WebSocketInputTests {
    private static let limits = HTTPLimits(body: 1000, live: LiveLimits(controlFrames: 5, controlWindow: .seconds(10)))
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func frame(_ opcode: WebSocketOpcode, _ text: String = "", fin: Bool = true) -> WebSocketFrame {
        frame(opcode, ByteBuffer(string: text), fin: fin)
    }

    private func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer, fin: Bool = true) -> WebSocketFrame {
        let key = WebSocketMaskingKey([1, 2, 3, 4])
        var masked = data
        if let key { masked.webSocketMask(key) }
        return WebSocketFrame(fin: fin, opcode: opcode, maskKey: key, data: masked)
    }

    private func outcomes(_ frames: [WebSocketFrame]) -> [WebSocketInput.Outcome] {
        var input = WebSocketInput()
        return frames.map { input.receive($0, now: start, WebSocketInputTests.limits) }
    }

    @Test func aMessageInOneFrameOrInManyIsTheSame() {
        #expect(outcomes([frame(.text, "hello")]) == [.message(ByteBuffer(string: "hello"))])
        let fragments = [
            frame(.text, "he", fin: false), frame(.continuation, "", fin: false), frame(.continuation, "llo"),
        ]
        #expect(outcomes(fragments) == [.incomplete, .incomplete, .message(ByteBuffer(string: "hello"))])
    }

    @Test func controlFramesComeBetweenFragments() {
        let frames = [
            frame(.text, "a", fin: false), frame(.ping, "x"), frame(.pong), frame(.continuation, "b"),
            frame(.connectionClose, ByteBuffer(integer: UInt16(1000))),
        ]
        #expect(
            outcomes(frames) == [
                .incomplete, .ping(ByteBuffer(string: "x")), .pong, .message(ByteBuffer(string: "ab")), .close(1000),
            ]
        )
    }

    @Test func aCharacterMaySpanFragments() {
        let bytes = Array("é".utf8)
        let frames = [
            frame(.text, ByteBuffer(bytes: [bytes[0]]), fin: false),
            frame(.continuation, ByteBuffer(bytes: [bytes[1]])),
        ]
        #expect(outcomes(frames).last == .message(ByteBuffer(string: "é")))
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frames: @Sendable (WebSocketInputTests) -> [WebSocketFrame]
        let closure: SocketClosure
    }

    private static let faults: [Fault] = [
        Fault(
            testDescription: "a frame without a mask",
            frames: { _ in
                [WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "x"))]
            },
            closure: .unmasked
        ),
        Fault(
            testDescription: "a reserved bit",
            frames: { test in
                var frame = test.frame(.text, "x")
                frame.rsv1 = true
                return [frame]
            },
            closure: .reservedBits
        ),
        Fault(
            testDescription: "an unknown opcode",
            frames: { test in
                [test.frame(WebSocketOpcode(encodedWebSocketOpcode: 3) ?? .text)]
            },
            closure: .unknownOpcode
        ),
        Fault(testDescription: "binary", frames: { [$0.frame(.binary, "x")] }, closure: .binary),
        Fault(
            testDescription: "a continuation of nothing",
            frames: { [$0.frame(.continuation, "x")] },
            closure: .misplacedFragment
        ),
        Fault(
            testDescription: "a message within a message",
            frames: { test in
                [test.frame(.text, "x", fin: false), test.frame(.text, "y")]
            },
            closure: .interruptedMessage
        ),
        Fault(
            testDescription: "invalid UTF-8",
            frames: { [$0.frame(.text, ByteBuffer(bytes: [0x22, 0xFF, 0x22]))] },
            closure: .invalidText
        ),
        Fault(
            testDescription: "half a character at the end",
            frames: { test in
                [test.frame(.text, "x", fin: false), test.frame(.continuation, ByteBuffer(bytes: [0xC3]))]
            },
            closure: .invalidText
        ),
        Fault(
            testDescription: "a surrogate",
            frames: { [$0.frame(.text, ByteBuffer(bytes: [0xED, 0xA0, 0x80]))] },
            closure: .invalidText
        ),
        Fault(
            testDescription: "one byte too many",
            frames: { test in
                [test.frame(.text, String(repeating: "x", count: 1001))]
            },
            closure: .tooLarge
        ),
        Fault(
            testDescription: "one byte too many in fragments",
            frames: { test in
                [
                    test.frame(.text, String(repeating: "x", count: 600), fin: false),
                    test.frame(.continuation, String(repeating: "x", count: 401), fin: false),
                ]
            },
            closure: .tooLarge
        ),
        Fault(
            testDescription: "fragments without end",
            frames: { test in
                [test.frame(.text, "", fin: false)] + (0..<71).map { _ in test.frame(.continuation, "", fin: false) }
            },
            closure: .fragmentFlood
        ),
        Fault(
            testDescription: "pings without end",
            frames: { test in (0..<6).map { _ in test.frame(.ping) } },
            closure: .controlFlood
        ),
        Fault(
            testDescription: "half a control frame",
            frames: { [$0.frame(.ping, "x", fin: false)] },
            closure: .malformedControl
        ),
        Fault(testDescription: "half a code", frames: { [$0.frame(.connectionClose, "x")] }, closure: .malformedClose),
        Fault(
            testDescription: "a code that is never sent",
            frames: { test in
                [test.frame(.connectionClose, ByteBuffer(integer: UInt16(1006)))]
            },
            closure: .malformedClose
        ),
        Fault(
            testDescription: "a reason that is no text",
            frames: { test in
                [test.frame(.connectionClose, ByteBuffer(bytes: [0x03, 0xE8, 0xFF]))]
            },
            closure: .invalidText
        ),
    ]

    @Test(arguments: faults)
    func badFramesHaveTheirCode(fault: Fault) {
        let outcomes = outcomes(fault.frames(self))
        #expect(outcomes.last == .fault(fault.closure))
        #expect(outcomes.dropLast().allSatisfy { if case .fault = $0 { false } else { true } })
    }

    @Test func theLongestMessageIsTakenWholeAndInPieces() {
        #expect(outcomes([frame(.text, String(repeating: "x", count: 1000))]).last != .fault(.tooLarge))
        let pieces = (0..<1000 / 20).map { index in
            frame(index == 0 ? .text : .continuation, String(repeating: "x", count: 20), fin: index == 49)
        }
        #expect(outcomes(pieces).last == .message(ByteBuffer(string: String(repeating: "x", count: 1000))))
    }

    @Test func pingsNowAndThenGoOnForEver() {
        var input = WebSocketInput()
        var now = start
        for _ in 0..<100 {
            #expect(input.receive(frame(.ping), now: now, WebSocketInputTests.limits) == .ping(ByteBuffer()))
            now = now + .seconds(3)
        }
    }

    @Test func aCloseMayHaveACodeOfItsOwnOrNone() {
        for code: UInt16 in [1000, 1001, 1012, 3000, 4999] {
            #expect(outcomes([frame(.connectionClose, ByteBuffer(integer: code))]) == [.close(code)])
        }
        #expect(outcomes([frame(.connectionClose)]) == [.close(nil)])
        for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000] {
            #expect(outcomes([frame(.connectionClose, ByteBuffer(integer: code))]) == [.fault(.malformedClose)])
        }
    }

    /// Bytes of any kind, through the frame decoder: no crash, at most one fault, nothing held beyond the limit.
    @Test func anyBytesEndInMessagesOrInOneFault() throws {
        var random = SeededGenerator.forTest()
        try fuzzFrames(seededCases(25_000), using: &random)
    }
}

/// Feeds frames with random faults, and noise, to the decoder and the input in pieces.
private func fuzzFrames(_ count: Int, using random: inout SeededGenerator) throws {
    let limits = HTTPLimits(body: 4096)
    var frames = 0
    while frames < count {
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limits.body)))
        var input = WebSocketInput()
        var hasFailed = false
        while !hasFailed, frames < count {
            frames += 1
            var bytes = randomFrame(using: &random)
            while !hasFailed, bytes.readableBytes > 0 {
                let length = min(bytes.readableBytes, Int.random(in: 1...900, using: &random))
                guard let piece = bytes.readSlice(length: length) else { break }
                do {
                    try channel.writeInbound(piece)
                } catch {
                    #expect(error is NIOWebSocketError)
                    hasFailed = true
                }
                while !hasFailed, let frame = try channel.readInbound(as: WebSocketFrame.self) {
                    switch input.receive(frame, now: .now(), limits) {
                    case .fault: hasFailed = true
                    case .message(let text): #expect(text.readableBytes <= limits.body)
                    case .close: hasFailed = true
                    case .incomplete, .ping, .pong: break
                    }
                    #expect(input.heldBytes <= limits.body)
                }
            }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}

private func randomFrame(using random: inout SeededGenerator) -> ByteBuffer {
    if Int.random(in: 0..<50, using: &random) == 0 {
        return ByteBuffer(
            bytes: (0..<Int.random(in: 1...64, using: &random)).map { _ in
                UInt8.random(in: .min ... .max, using: &random)
            }
        )
    }
    let opcodes: [UInt8] = [1, 1, 1, 0, 0, 9, 10, 8, 2, 3, 11]
    let opcode = Int.random(in: 0..<6, using: &random) == 0 ? opcodes.randomElement(using: &random) ?? 1 : 1
    let lengths = Int.random(in: 0..<100, using: &random) == 0 ? [4096, 4097] : [0, 1, 2, 5, 20]
    let length = Int.random(in: 0..<20, using: &random) == 0 ? 126 : lengths.randomElement(using: &random) ?? 0
    let payload: ByteBuffer =
        Bool.random(using: &random)
        ? ByteBuffer(repeating: 0x61, count: length)
        : ByteBuffer(bytes: (0..<length).map { _ in UInt8.random(in: 0x20...0x90, using: &random) })
    return SocketClient.frame(
        opcode,
        payload,
        isFinal: Int.random(in: 0..<4, using: &random) > 0,
        isMasked: Int.random(in: 0..<20, using: &random) > 0,
        reserved: Int.random(in: 0..<30, using: &random) == 0 ? UInt8.random(in: 1...7, using: &random) : 0
    )
}
