import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance

@Suite struct TypeInferenceTests {
    @Test(arguments: [
        (["1", "-2", "0"], FieldType.integer),
        (["9223372036854775807", "-9223372036854775808"], .integer),
        (["9223372036854775808", "1"], .string),
        (["1", "2.5"], .number),
        (["1e3", ".5", "-0.25", "0"], .number),
        // 2^53 + 1 among fractions would lose its last digit.
        (["9007199254740993", "0.5"], .string),
        (["1", "x"], .string),
        (["00501"], .string),
        (["+1"], .string),
        (["1."], .string),
        (["-"], .string),
        (["1e999"], .string),
        (["NaN"], .string),
        (["NA", "1"], .string),
        (["1,000"], .string),
        (["true", "FALSE"], .boolean),
        (["true", "1"], .string),
        (["yes"], .string),
        (["2024-02-29"], .datetime),
        (["2023-02-29"], .string),
        (["2024-02-29", "2024-02-29T12:30:00Z", "2024-02-29 12:30:00.5+01:00", "2024-02-29 12:30"], .datetime),
        (["2024-02-29", "2024"], .string),
        (["{\"a\": [1]}", "[]"], .json),
        (["{a: 1}"], .string),
        (["[1", "[]"], .string),
        (["a"], .string),
    ])
    func textIsAStringUnlessAllOfItIsSomethingElse(texts: [String], type: FieldType) {
        for order in [texts, texts.reversed()] {
            var inference = TypeInference()
            for text in order { inference.observe(text: text) }
            #expect(inference.type == type)
        }
    }

    @Test func withoutAValueThereIsNoType() {
        var inference = TypeInference()
        #expect(inference.type == nil)
        inference.observe(.null)
        #expect(inference.type == nil)
        #expect(inference.valueCount == 0)
    }

    @Test(arguments: [
        ([RecordValue.integer(1), .number(2.5)], FieldType.number),
        ([.number(2.5), .integer(1)], .number),
        ([.integer(1), .string("x")], .integer),
        ([.string("2024-02-29")], .string),
        ([.datetime(Timestamp(microseconds: 0))], .datetime),
        ([.boolean(true)], .boolean),
    ])
    func theFirstJSONValueDecidesAndIntegersAmongNumbersAreNumbers(values: [RecordValue], type: FieldType) {
        var inference = TypeInference()
        for value in values { inference.observe(value) }
        #expect(inference.type == type)
    }

    @Test(arguments: [
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("2024-02-29T12:30", "2024-02-29T12:30:00Z"),
        ("2024-02-29 12:30Z", "2024-02-29T12:30:00Z"),
        ("2024-02-29 12:30:01.25", "2024-02-29T12:30:01.25Z"),
        ("2024-02-29 12:30:01+01", "2024-02-29T12:30:01+01:00"),
        ("2024-02-29 12:30:01-0130", "2024-02-29T12:30:01-01:30"),
        ("2024-02-29 12:30+01:00", "2024-02-29T12:30:00+01:00"),
    ])
    func anInstantMayLackItsTimeSecondsOrOffset(text: String, whole: String) {
        let instant = CSVText.instant(text)
        #expect(instant != nil)
        #expect(instant == CSVText.instant(whole))
    }

    @Test(arguments: ["", "2024", "20240229", "2024-13-01", "2024-02-29T25:00", "12:30", "2024-02-29T12", "2024-2-29"])
    func whatIsNoInstantIsNone(text: String) {
        #expect(CSVText.instant(text) == nil)
    }
}
