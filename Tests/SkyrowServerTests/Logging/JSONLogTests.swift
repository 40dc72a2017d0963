import Foundation
import Logging
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP
@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct JSONLogTests {
    /// What is written to a pipe while `body` logs.
    static func lines(_ body: (Logger, LogOutput) -> Void) throws -> [[String: LogValue]] {
        let pipe = Pipe()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        var logger = Logger(label: "test") { _ in
            JSONLogHandler(output: output, metadataProvider: .init { ["request_id": "r1"] })
        }
        logger.logLevel = .debug
        body(logger, output)
        output.flush()
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return try text.split(separator: "\n").map {
            try JSONDecoder().decode([String: LogValue].self, from: Data($0.utf8))
        }
    }

    @Test(arguments: [
        ("plain", "plain"), ("two\nlines", "two\nlines"), ("a \"quote\" and \\", "a \"quote\" and \\"), ("", ""),
        ("\u{0}\u{7F}é", "\u{0}\u{7F}é"),
    ])
    func noValueEndsItsLine(_ value: String, read: String) throws {
        let lines = try Self.lines { logger, _ in
            logger.info("\(value)", metadata: ["key": .string(value)])
            logger.info("next")
        }
        #expect(lines.map { $0["message"] } == [.text(read), "next"])
        #expect(lines.first?["key"] == .text(read))
    }

    @Test func aLineHasTimeLevelMessageAndTheNearestOfEachName() throws {
        let lines = try Self.lines { logger, _ in
            var logger = logger
            logger[metadataKey: "part"] = "store"
            logger.notice("Changed", metadata: ["part": "schema", "level": "high"])
        }
        let line = try #require(lines.first)
        #expect(line["time"]?.text?.hasSuffix("Z") == true)
        #expect(line["level"] == "notice")
        #expect(line["level_"] == "high")
        #expect(line["part"] == "schema")
        #expect(line["request_id"] == "r1")
    }

    @Test func wholeNumbersStayNumbers() throws {
        let lines = try Self.lines { logger, _ in
            logger.info(
                "x",
                metadata: [
                    "small": .stringConvertible(-7), "large": .stringConvertible(Int64.max),
                    "byte": .stringConvertible(UInt8(8)),
                    "beyond": .stringConvertible(UInt64.max), "text": "7", "part": .stringConvertible(0.5),
                ]
            )
        }
        let line = try #require(lines.first)
        #expect(line["small"] == .number(-7))
        #expect(line["large"] == .number(.max))
        #expect(line["byte"] == .number(8))
        #expect(line["beyond"] == "18446744073709551615")
        #expect(line["text"] == "7")
        #expect(line["part"] == "0.5")
    }

    /// The lines about requests do not pass through the logger, and look as if they did.
    @Test(arguments: [
        RequestLogLine(
            level: .info,
            action: "record:fetch",
            calls: nil,
            client: ClientAddress("192.0.2.7"),
            errorCode: nil,
            method: "POST",
            microseconds: 1234,
            outcome: "OK",
            requestID: RequestIDGenerator.one,
            status: 200,
            traceID: TraceID(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736),
            userID: "ann \"a\""
        ),
        RequestLogLine(
            level: .error,
            action: "a \"quote\"",
            application: try? ApplicationName("shop"),
            calls: 2,
            client: nil,
            errorCode: 10_000,
            method: nil,
            microseconds: nil,
            outcome: "UnexpectedError",
            requestID: RequestIDGenerator.one,
            status: 500,
            traceID: nil,
            userID: nil
        ),
    ])
    func aRequestsLineIsAsTheLoggersOwn(_ request: RequestLogLine) throws {
        let lines = try Self.lines { logger, output in
            output.write(request)
            logger.log(level: request.level, "Request", metadata: request.metadata)
        }
        #expect(lines.count == 2)
        #expect(lines.first?.filter { $0.key != "time" } == lines.last?.filter { $0.key != "time" })
    }

    @Test func aWarningTakesWhatCameBeforeItAlong() throws {
        let pipe = Pipe()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let logger = Logger(label: "test") { _ in JSONLogHandler(output: output) }
        logger.info("first")
        logger.warning("second")
        // No flush: both are in the pipe when the warning returns.
        let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text.split(separator: "\n").count == 2)
        #expect(text.contains("first"))
    }

    @Test func linesBeyondTheCapacityAreDroppedAndCounted() throws {
        let path = NSTemporaryDirectory() + "skyrow-log-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let output = LogOutput(descriptor: descriptor)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        line.withUnsafeBytes { output.append($0, isUrgent: false) }
        output.flush()
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("1 log lines were dropped"))
    }
}

extension RequestIDGenerator {
    fileprivate static var one: RequestID {
        var generator = RequestIDGenerator()
        return generator.next()
    }
}
