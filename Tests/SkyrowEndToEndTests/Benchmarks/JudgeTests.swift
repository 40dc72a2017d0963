import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// `Benchmarks/judge.awk`: thresholds and figures in, verdict out.
@Suite struct JudgeTests {
    static let scripts = "\(ImportTests.project)/Benchmarks"

    static let thresholds = """
        # A comment, and an empty line.

        fetch.rate   at-least  0.50  ratio  # why
        save.time    at-most   1.05  ratio
        """

    static func judge(
        _ figures: String,
        by thresholds: String = thresholds,
        _ options: String...
    ) async throws -> Tool.Result {
        let folder = try TemporaryDirectory()
        let files = [folder.path + "/thresholds", folder.path + "/figures"]
        for (path, text) in zip(files, [thresholds, figures]) {
            try (text + "\n").write(toFile: path, atomically: false, encoding: .utf8)
        }
        return try await Tool.run(
            words: ["awk"] + options.flatMap { ["-v", $0] } + ["-f", "\(scripts)/judge.awk"] + files
        )
    }

    /// The line of a figure, its columns with one space between them.
    static func row(_ name: String, of result: Tool.Result) throws -> String {
        let line = try #require(result.output.split(separator: "\n").first { $0.hasPrefix(name + " ") })
        return line.split(separator: " ").joined(separator: " ")
    }

    @Test func figuresWithinTheirThresholdsPass() async throws {
        let result = try await Self.judge("fetch.rate 0.52 0.48 0.55 0.51 0.60\nsave.time 0.98 1.00 1.01 1.02 0.99")
        #expect(result.status == .exited(0))
        #expect(
            try Self.row("fetch.rate", of: result)
                == "fetch.rate 0.520 - at least 0.5 ratio 0.480 to 0.600 1 of 5 81 % holds"
        )
        #expect(
            try Self.row("save.time", of: result)
                == "save.time 1.000 - at most 1.05 ratio 0.980 to 1.020 0 of 5 97 % holds"
        )
        #expect(result.output.hasSuffix("No figure is beyond its threshold."))
    }

    @Test func aMedianBeyondItsThresholdFailsAndSaysByHowMuch() async throws {
        let result = try await Self.judge("fetch.rate 0.40 0.41 0.39 0.40 0.40\nsave.time 1.26 1.30 1.00 1.27 1.20")
        #expect(result.status == .exited(1))
        #expect(try Self.row("fetch.rate", of: result).hasSuffix("5 of 5 97 % WORSE by 20.0 %"))
        #expect(try Self.row("save.time", of: result).hasSuffix("4 of 5 81 % WORSE by 20.0 %"))
        #expect(
            result.output.hasSuffix(
                """
                2 figures are beyond the threshold:
                  fetch.rate: worse than its threshold by 20.0 %, 97 % sure
                  save.time: worse than its threshold by 20.0 %, 81 % sure
                """
            )
        )
    }

    @Test func roundsBeyondDoNotCountWhileTheMedianHolds() async throws {
        let result = try await Self.judge("fetch.rate 0.10 0.51 0.52 0.53 0.20\nsave.time 9 1 1 1 9")
        #expect(result.status == .exited(0))
        #expect(try Self.row("fetch.rate", of: result).hasSuffix("2 of 5 50 % holds"))
        #expect(result.output.contains("little more than chance: measure again"))
    }

    @Test func theMedianOfAnEvenNumberLiesBetweenTheMiddleTwo() async throws {
        let result = try await Self.judge("fetch.rate 0.2 0.8 0.4 0.6\nsave.time 1 1 1 1")
        #expect(try Self.row("fetch.rate", of: result).hasPrefix("fetch.rate 0.500 "))
        #expect(result.status == .exited(0))
    }

    @Test func onTheThresholdIsWithinIt() async throws {
        #expect(try await Self.judge("fetch.rate 0.5\nsave.time 1.05").status == .exited(0))
    }

    @Test func oneRoundIsJudgedAndNotCalledSure() async throws {
        let result = try await Self.judge("fetch.rate 0.4\nsave.time 1")
        #expect(result.status == .exited(1))
        #expect(try Self.row("fetch.rate", of: result).hasSuffix("1 of 1 - WORSE by 20.0 %"))
        #expect(result.output.contains("by 20.0 %, measured once"))
        #expect(!result.output.contains("measure again"))
    }

    @Test func theOlderExecutableIsShownBesideAndNotJudged() async throws {
        let result = try await Self.judge("fetch.rate 0.5 0.6\nolder fetch.rate 0.2 0.3\nsave.time 1")
        #expect(result.status == .exited(0))
        #expect(try Self.row("fetch.rate", of: result).hasPrefix("fetch.rate 0.550 0.250 at least 0.5 "))
    }

    @Test func whatCouldNotBeMeasuredIsNamedWithItsReason() async throws {
        let result = try await Self.judge("fetch.rate 0.6\nabsent save.time no older executable (--against)")
        #expect(result.status == .exited(0))
        #expect(try Self.row("save.time", of: result).hasSuffix("not measured: no older executable (--against)"))
    }

    @Test(arguments: [
        ("fetch.rate 0.6", "save.time has a threshold and was not measured"),
        ("fetch.rate 0.6\nsave.tmie 1", "the thresholds have no row for save.tmie"),
        ("fetch.rate 0.6\nfetch.rate 0.6\nsave.time 1", "there are two rows for fetch.rate"),
        ("fetch.rate\nsave.time 1", "fetch.rate has no values"),
        ("fetch.rate 0.6 nan\nsave.time 1", "fetch.rate has the value \"nan\", which is no number"),
        ("fetch.rate 0.6\nsave.time 0", "save.time has the value 0; every figure is positive"),
        ("fetch.rate 0.6\nabsent save.time", "an absent figure has a name and a reason, not: absent save.time"),
    ])
    func faultyFiguresAreNoVerdict(figures: String, message: String) async throws {
        let result = try await Self.judge(figures)
        #expect(result.status == .exited(2))
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test(arguments: [
        (
            "fetch.rate at-least 0.5",
            "a row is NAME at-least|at-most NUMBER UNIT [machine], not: fetch.rate at-least 0.5"
        ),
        (
            "fetch.rate at-least 0.5 ratio device",
            "a row is NAME at-least|at-most NUMBER UNIT [machine], not: fetch.rate at-least 0.5 ratio device"
        ),
        ("fetch.rate >= 0.5 ratio", "there is no direction \">=\"; it is at-least or at-most"),
        ("fetch.rate at-least half ratio", "\"half\" is no number"),
        ("fetch.rate at-least 0 ratio", "a threshold is positive, and \"0\" is not"),
        ("fetch.rate at-least 1 ratio\nfetch.rate at-least 2 ratio", "there are two rows for fetch.rate"),
    ])
    func faultyThresholdsAreNoVerdict(thresholds: String, message: String) async throws {
        let result = try await Self.judge("fetch.rate 1", by: thresholds)
        #expect(result.status == .exited(2))
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test(arguments: [
        ("size 61\nstart 90", 1), ("size 59\nstart 190", 0), ("size 61\nstart 190", 1), ("size 59\nstart 90", 0),
    ])
    func whatDependsOnTheMachineIsPrintedAndNotRefused(figures: String, status: Int32) async throws {
        let budgets = "size at-most 60 MB\nstart at-most 100 ms machine\nrate at-least 1 ratio machine"
        let result = try await Self.judge(figures, by: budgets, "rows=^(size|start)$", "fixed=1")
        #expect(result.status == .exited(status), "\(result.errors)")
        #expect(try Self.row("start", of: result).contains("WORSE") == figures.contains("190"))
        #expect(!result.output.contains("rate"))
        // Without the option every row counts.
        #expect(try await Self.judge("size 59\nstart 190", by: budgets, "rows=^(size|start)$").status == .exited(1))
    }

    /// The figures that the programs write are those that the file of budgets has.
    @Test func eachBudgetOfTheProjectIsMeasured() async throws {
        let works = ["fetch", "query", "save", "batch"]
        let perWork = ["rate-to-plain", "rate-to-pgbench", "time-to-older"]
        let names =
            works.flatMap { work in perWork.map { "\(work).\($0)" } + ["instructions.\(work)"] } + [
                "memory.idle", "memory.loaded", "start", "executable", "libraries", "build.processor", "build.clock",
                "tests.clock",
            ]
        let budgets = try String(contentsOfFile: "\(Self.scripts)/budgets", encoding: .utf8)
        let result = try await Self.judge(names.map { "\($0) 1" }.joined(separator: "\n"), by: budgets)
        #expect(result.status == .exited(0), "\(result.errors)")
    }
}
