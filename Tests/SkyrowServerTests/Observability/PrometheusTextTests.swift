import Testing

@testable import SkyrowServer

/// The text that Prometheus reads, made of values.
@Suite struct PrometheusTextTests {
    private static func family(
        _ value: MetricValue,
        labels: [MetricLabel] = [],
        _ kind: MetricKind = .gauge
    ) -> MetricFamily {
        MetricFamily("m", kind, [MetricSeries(labels: labels, value: value)])
    }

    @Test(arguments: [
        (MetricValue.integer(0), "m 0"), (.integer(-3), "m -3"), (.integer(.max), "m 9223372036854775807"),
        (.number(0), "m 0"), (.number(1), "m 1"), (.number(-2.5), "m -2.5"), (.number(0.0001), "m 0.0001"),
        (.number(1e-7), "m 1e-07"), (.number(1e300), "m 1e+300"), (.number(123_456_789_012), "m 123456789012"),
        (.number(.nan), "m NaN"), (.number(.infinity), "m +Inf"), (.number(-.infinity), "m -Inf"),
    ])
    func valuesAreWrittenAsGoReadsThem(value: MetricValue, line: String) {
        #expect(PrometheusText.text([Self.family(value)]) == "# TYPE m gauge\n\(line)\n")
    }

    @Test(arguments: [
        ("plain", "plain"), ("two words", "two words"), ("", ""), ("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"),
        ("a\nb", "a\\nb"), ("\\n", "\\\\n"), ("ä{}=,", "ä{}=,"),
    ])
    func labelsAreEscaped(value: String, written: String) {
        let family = Self.family(.integer(1), labels: [MetricLabel(name: "l", value: value)])
        #expect(PrometheusText.text([family]) == "# TYPE m gauge\nm{l=\"\(written)\"} 1\n")
    }

    @Test func helpComesFirstAndKeepsItsLine() {
        let text = PrometheusText.text(
            [Self.family(.integer(1))],
            help: ["m": "A \\ and\na \"quote\".", "n": "Not there."]
        )
        #expect(text == "# HELP m A \\\\ and\\na \"quote\".\n# TYPE m gauge\nm 1\n")
    }

    @Test func aHistogramCountsUpToItsLastRange() {
        let distribution = MetricDistribution(bounds: [0.5, 1, 2.5], counts: [3, 0, 2, 1], sum: 12.25)
        let family = Self.family(
            .histogram(distribution),
            labels: [MetricLabel(name: "queue", value: "read")],
            .histogram
        )
        #expect(
            PrometheusText.text([family]) == """
                # TYPE m histogram
                m_bucket{queue="read",le="0.5"} 3
                m_bucket{queue="read",le="1"} 3
                m_bucket{queue="read",le="2.5"} 5
                m_bucket{queue="read",le="+Inf"} 6
                m_sum{queue="read"} 12.25
                m_count{queue="read"} 6

                """
        )
    }

    @Test func aFamilyWithoutSeriesIsNotThere() {
        #expect(PrometheusText.text([MetricFamily("m", .counter, [])], help: ["m": "Nothing."]) == "")
    }

    @Test(arguments: [
        ("good_name", "good_name", "good_name"), ("a:b", "a:b", "a_b"), ("a.b-c d", "a_b_c_d", "a_b_c_d"),
        ("9lives", "_9lives", "_9lives"), ("", "_", "_"), ("naïve", "na_ve", "na_ve"), ("½", "_", "_"),
    ])
    func namesAreMadeValid(name: String, metric: String, label: String) {
        #expect(PrometheusText.name(name, allowsColon: true) == metric)
        #expect(PrometheusText.name(name, allowsColon: false) == label)
    }

    @Test func theSystemsWordsAreReadAndOthersPassedOver() {
        let status = ProcessStatus(
            """
            Name:\tskyrow
            VmSize:\t  903016 kB
            VmRSS:\t   34828 kB
            Threads:\t9
            VmSwap:\tx kB
            Cpus_allowed:
            """
        )
        #expect(status.virtualBytes == 903_016 * 1024)
        #expect(status.residentBytes == 34_828 * 1024)
        #expect(status.threads == 9)
        #expect(ProcessStatus("") == ProcessStatus("VmRSS:\t-5 kB\nVmSize:\nThreads: 99999999999999999999"))
        let now = ProcessReadings.now()
        #expect(now.residentBytes > 1 << 20)
        #expect(now.openDescriptors > 2)
        #expect(now.threads > 0)
        #expect(now.cpuSeconds > 0)
    }
}
