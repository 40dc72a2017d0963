import SkyrowModel
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What an import shows on its way.
@Suite struct ImportOutputTests {
    @Test func theTableShowsWhatBecomesOfEachColumn() throws {
        var reader = SourceReader(ImportReading(format: .csv))
        let text = "code,Release Year,empty\n7,1979,\n8,,\n"
        let records = reader.take(Array(text.utf8)) + reader.take([])
        var survey = ImportSurvey()
        survey.observe(records, columns: reader.columns)
        let plan = try ImportPlan(
            type: try RecordTypeName("film"),
            survey: survey,
            known: ImportPlan.KnownFields(),
            idColumn: "code"
        )
        #expect(
            importTable(plan, recordCount: survey.recordCount) == """
                column        field         type                       values
                code          _id           the record's id            2 of 2
                Release Year  Release_Year  integer (new)              1 of 2
                empty                       left out: it has no value  0 of 2
                """
        )
    }

    @Test(arguments: [
        (0, 100, 1.0, "0 of 100 records  0 a second"),
        (50, 100, 2.0, "50 of 100 records  25 a second  2 s left"),
        (12_345, 58_788, 0.5, "12,345 of 58,788 records  24,690 a second  2 s left"),
    ])
    func progressTellsRateAndTimeLeft(done: Int, total: Int, seconds: Double, line: String) {
        #expect(Progress.line(done: done, total: total, elapsed: .seconds(seconds)) == line)
    }
}
