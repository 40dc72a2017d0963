import CoreMetrics
import Testing

@testable import SkyrowServer

/// What is counted through swift-metrics comes out again.
@Suite struct MetricRegistryTests {
    private let registry = MetricRegistry()

    private func text() -> [Substring] {
        PrometheusText.text(registry.families).split(separator: "\n").filter { !$0.hasPrefix("#") }
    }

    @Test func handlesOfTheSameLabelsShareOneSeries() {
        Counter(label: "c", dimensions: [("l", "x")], factory: registry).increment(by: 2)
        Counter(label: "c", dimensions: [("l", "x")], factory: registry).increment()
        Counter(label: "c", dimensions: [("l", "w")], factory: registry).increment(by: 7)
        Counter(label: "b", factory: registry).increment(by: 0)
        #expect(text() == ["b 0", "c{l=\"w\"} 7", "c{l=\"x\"} 3"])
    }

    @Test func countersNeverGoBack() {
        let counter = Counter(label: "c", factory: registry)
        counter.increment(by: 5)
        counter.increment(by: -3)
        #expect(text() == ["c 5"])
    }

    @Test func gaugesHoldTheLastValue() {
        let gauge = Gauge(label: "g", factory: registry)
        gauge.record(3)
        gauge.record(2.5)
        let meter = Meter(label: "m", factory: registry)
        meter.set(10)
        meter.increment(by: 2)
        meter.decrement(by: 0.5)
        #expect(text() == ["g 2.5", "m 11.5"])
    }

    @Test func timersCountInSeconds() {
        let timer = Timer(label: "t", factory: registry)
        timer.recordMilliseconds(3)
        timer.recordNanoseconds(100_000)
        timer.recordSeconds(60)
        #expect(text().filter { !$0.contains("_bucket") } == ["t_sum 60.0031", "t_count 3"])
        #expect(text().contains("t_bucket{le=\"0.0001\"} 1"))
        #expect(text().contains("t_bucket{le=\"0.0025\"} 1"))
        #expect(text().contains("t_bucket{le=\"0.005\"} 2"))
        #expect(text().contains("t_bucket{le=\"10\"} 2"))
        #expect(text().contains("t_bucket{le=\"+Inf\"} 3"))
    }

    @Test func aRecorderThatAggregatesIsAHistogram() {
        let recorder = Recorder(label: "r", factory: registry)
        recorder.record(1)
        recorder.record(5)
        recorder.record(Double.nan)
        #expect(text().contains("r_bucket{le=\"1\"} 1"))
        #expect(text().contains("r_bucket{le=\"8\"} 2"))
        #expect(text().contains("r_count 2"))
    }

    @Test func aNameHasOneKind() {
        Counter(label: "x", factory: registry).increment()
        let gauge = Gauge(label: "x", factory: registry)
        gauge.record(9)
        // A label set of one kind, then the same under another.
        Gauge(label: "x", dimensions: [("l", "1")], factory: registry).record(9)
        #expect(text() == ["x 1"])
    }

    @Test func namesAreMadeValidAndMayMeet() {
        Counter(label: "a.b", dimensions: [("l-1", "v")], factory: registry).increment()
        Counter(label: "a_b", dimensions: [("l_1", "v")], factory: registry).increment()
        #expect(text() == ["a_b{l_1=\"v\"} 2"])
    }

    @Test func whatIsDestroyedIsGone() {
        let counter = Counter(label: "c", factory: registry)
        counter.increment()
        counter.destroy()
        #expect(text() == [])
        Counter(label: "c", factory: registry).increment()
        #expect(text() == ["c 1"])
    }

    @Test func nothingIsLostWhenManyCount() async {
        let (name, value) = ("l", "a \\ \"b\"\n{},=")
        let meter = Meter(label: "m", factory: registry)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { [registry] in
                    for _ in 0..<1000 {
                        Counter(label: "c", dimensions: [(name, value)], factory: registry).increment()
                        meter.increment(by: 0.5)
                        Timer(label: "t", factory: registry).recordNanoseconds(Int64.random(in: 0..<1_000_000))
                    }
                }
            }
            // Every page is one that Prometheus reads, whatever is counted meanwhile.
            group.addTask { [registry] in
                for _ in 0..<200 {
                    let text = PrometheusText.text(registry.families)
                    #expect(throws: Never.self) { if !text.isEmpty { _ = try ScrapedMetrics(text) } }
                }
            }
        }
        #expect(text().contains(#"c{l="a \\ \"b\"\n{},="} 8000"#))
        #expect(text().contains("m 4000"))
        #expect(text().contains("t_count 8000"))
    }
}
