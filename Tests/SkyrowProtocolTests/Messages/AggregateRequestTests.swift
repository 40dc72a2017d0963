import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// The JSON form of `record:aggregate`.
@Suite struct AggregateRequestTests {
    @Test func everyMemberIsRead() throws {
        let request = try readJSON(
            #"""
            {"database_id":"_private","record_type":"film","predicate":["gte",{"$type":"keypath","$val":"year"},1950],
             "group_by":{"year":{"$type":"keypath","$val":"year"},
               "month":{"bucket":"month","of":{"$type":"keypath","$val":"_created_at"},"time_zone":"Europe/Warsaw"},
               "day":{"bucket":"day","of":{"$val":"seen"}}},
             "aggregates":{"n":["count"],"avg":["avg",{"$val":"rating"}],"people":["count_distinct",{"$val":"director.name"}]},
             "having":["gt",{"$val":"n"},10],"sort":[[{"$val":"n"},"desc"],[{"$val":"year"},"asc","nulls_first"]],"limit":7}
            """#
        ) { try AggregateRequest(parameters: $0) }
        #expect(request.database == .own)
        #expect(
            request.query
                == AggregateQuery(
                    type: typeName("film"),
                    predicate: .comparison(.gte, .keyPath(keyPath("year")), .value(.integer(1950))),
                    groupKeys: [
                        GroupKey("year", keyPath("year")),
                        GroupKey("month", keyPath("_created_at"), in: TimeBucket(.month, timeZone: "Europe/Warsaw")),
                        GroupKey("day", keyPath("seen"), in: TimeBucket(.day)),
                    ],
                    aggregates: [
                        Aggregate("n", .count), Aggregate("avg", .average, keyPath("rating")),
                        Aggregate("people", .countDistinct, keyPath("director.name")),
                    ],
                    having: .comparison(.gt, .keyPath(keyPath("n")), .value(.integer(10))),
                    sort: [SortKey(keyPath("n"), .descending), SortKey(keyPath("year"), .ascending, .first)],
                    limit: 7
                )
        )
        let written = try readJSON(writtenJSON { Actions.recordAggregate.parameters.write(request, $0) }) {
            try AggregateRequest(parameters: $0)
        }
        #expect(written.query == request.query && written.database == .own)
    }

    @Test func whatIsMissingHasItsDefault() throws {
        let request = try readJSON(
            #"{"record_type":"n","group_by":null,"aggregates":null,"having":null,"sort":null,"limit":null,"predicate":null}"#
        ) { try AggregateRequest(parameters: $0) }
        #expect(request.query == AggregateQuery(type: typeName("n")))
        #expect(request.query.limit == 100)
    }

    @Test(
        arguments: [
            (#""group_by":[]"#, nil, .badRequest), (#""group_by":{"a":1}"#, "group_by.a", .invalidArgument),
            (#""group_by":{"a":{"bucket":"fortnight","of":{"$val":"a"}}}"#, "group_by.a.bucket", .invalidArgument),
            (#""group_by":{"a":{"bucket":1,"of":{"$val":"a"}}}"#, "group_by.a.bucket", .invalidArgument),
            (#""group_by":{"a":{"bucket":"day"}}"#, "group_by.a.of", .invalidArgument),
            (#""group_by":{"a":{"bucket":"day","of":"a"}}"#, "group_by.a.of", .invalidArgument),
            (
                #""group_by":{"a":{"bucket":"day","of":{"$val":"a"},"time_zone":1}}"#, "group_by.a.time_zone",
                .invalidArgument
            ),
            (
                #""group_by":{"a":{"bucket":"day","of":{"$val":"a"},"time_zone":""}}"#, "group_by.a.time_zone",
                .invalidArgument
            ),
            (
                #""group_by":{"a":{"$val":"a"},"b":{"$val":"a"},"c":{"$val":"a"},"d":{"$val":"a"},"e":{"$val":"a"},"f":{"$val":"a"}}"#,
                "group_by", .invalidArgument
            ),
            (#""aggregates":["count"]"#, nil, .badRequest),
            (#""aggregates":{"n":"count"}"#, "aggregates.n", .invalidArgument),
            (#""aggregates":{"n":[]}"#, "aggregates.n", .invalidArgument),
            (#""aggregates":{"n":["sum",{"$val":"a"},1]}"#, "aggregates.n", .invalidArgument),
            (#""aggregates":{"n":["median",{"$val":"a"}]}"#, "aggregates.n[0]", .invalidArgument),
            (#""aggregates":{"n":[1]}"#, "aggregates.n[0]", .invalidArgument),
            (#""aggregates":{"n":["sum","a"]}"#, "aggregates.n[1]", .invalidArgument),
            (#""having":{}"#, "having", .invalidArgument),
            (#""having":["or",["eq",1]]"#, "having[1]", .invalidArgument),
            (#""having":["gt",{"$val":"n"},1e19]"#, "having", .invalidArgument),
            (#""having":["gt",{"$val":"n"},9223372036854775808]"#, "having[2]", .invalidArgument),
            (#""limit":1001"#, nil, .invalidArgument),
            (#""sort":[[{"$val":"n"},"up"]]"#, "sort[0][1]", .invalidArgument),
        ] as [(String, String?, ErrorCode)]
    )
    func whatMakesNoSenseIsNamed(member: String, path: String?, code: ErrorCode) throws {
        let error = try refusal("{\"record_type\":\"n\",\(member)}") { try AggregateRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.path == path)
    }

    @Test func groupsAreWrittenInBothEnvelopes() {
        let group = Record(id: recordID("note/1"), fields: [fieldName("n"): .integer(3)])
        let groups = AggregateResult(groups: [Members(of: group)], hasMore: true)
        let result = Actions.recordAggregate.writer(of: .found(groups))
        let text = #"{"groups":[{"n":3}],"info":{"has_more":true}}"#
        #expect(writtenJSON { $0.response(result, in: .v1) } == "{\"result\":\(text)}")
        #expect(
            writtenJSON { $0.response(result, in: .rpc(.null)) } == #"{"jsonrpc":"2.0","id":null,"result":\#(text)}"#
        )
    }
}

/// The fields of a record without its metadata.
private struct Members: RecordSource {
    let record: Record

    init(of record: Record) {
        self.record = record
    }

    var isWhole: Bool { true }

    func emit(into sink: inout some RecordSink) {
        sink.beginRecord()
        for (name, value) in record.fields {
            let key = MemberKey(name.rawValue)
            key.encoded.withUnsafeBytes { bytes in
                value.withBorrowed { sink.member(BorrowedKey(encoded: bytes), $0) }
            }
        }
        sink.endRecord()
    }
}
