import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// What the parameters and results of the actions on the life of accounts read, refuse and write.
@Suite struct AccountLifeFormTests {
    private static let long = String(repeating: "x", count: 1000)

    static let states = [
        FormTests.Row(json: #"{"auth_id":"u1","disabled":true,"message":"Be nice.","expiry":"2000-01-01T00:00:01Z"}"#),
        FormTests.Row(json: #"{"auth_id":"u1","disabled":true,"message":"\#(long)"}"#),
        FormTests.Row(json: #"{"auth_id":"u1","disabled":true,"message":""}"#),
        // Of an account that is enabled they mean nothing.
        FormTests.Row(
            json: #"{"auth_id":"u1","disabled":false,"message":"x","expiry":"never"}"#,
            written: #"{"auth_id":"u1","disabled":false}"#
        ),
        FormTests.Row(json: #"{"disabled":true}"#, code: .invalidArgument, argument: "auth_id"),
        FormTests.Row(json: #"{"auth_id":"","disabled":true}"#, code: .invalidArgument, argument: "auth_id"),
        FormTests.Row(json: #"{"auth_id":1,"disabled":true}"#, code: .badRequest, argument: "auth_id"),
        FormTests.Row(json: #"{"auth_id":"u1"}"#, code: .invalidArgument, argument: "disabled"),
        FormTests.Row(json: #"{"auth_id":"u1","disabled":"yes"}"#, code: .badRequest, argument: "disabled"),
        FormTests.Row(json: #"{"auth_id":"u1","disabled":true,"message":1}"#, code: .badRequest, argument: "message"),
        FormTests.Row(
            json: #"{"auth_id":"u1","disabled":true,"message":"\u0000"}"#,
            code: .invalidArgument,
            argument: "message"
        ),
        FormTests.Row(
            json: #"{"auth_id":"u1","disabled":true,"message":"\#(long)x"}"#,
            code: .invalidArgument,
            argument: "message"
        ),
        FormTests.Row(
            json: #"{"auth_id":"u1","disabled":true,"expiry":"tomorrow"}"#,
            code: .invalidArgument,
            argument: "expiry"
        ),
        FormTests.Row(json: #"{"auth_id":"u1","disabled":true,"expiry":5}"#, code: .badRequest, argument: "expiry"),
    ]

    @Test(arguments: states) func theStateOfAnAccount(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authDisableSet.parameters, row)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"user_id":"u1","release":true}"#),
        FormTests.Row(json: #"{"user_id":"u1","release":false}"#, written: #"{"user_id":"u1"}"#),
        FormTests.Row(json: "{}", code: .invalidArgument, argument: "user_id"),
        FormTests.Row(json: #"{"user_id":""}"#, code: .invalidArgument, argument: "user_id"),
        FormTests.Row(json: #"{"user_id":"u1","release":1}"#, code: .badRequest, argument: "release"),
    ])
    func theAccountThatIsDeleted(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.userDelete.parameters, row)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"default_access":[{"users":true,"level":"read"}]}"#),
        FormTests.Row(json: #"{"default_access":null}"#),
        // What is not sent does not stand for no list.
        FormTests.Row(json: "{}", code: .invalidArgument, argument: "default_access"),
        FormTests.Row(
            json: #"{"default_access":[{"users":true}]}"#,
            code: .invalidArgument,
            argument: "default_access",
            path: "default_access[0]"
        ),
    ])
    func theListForNewRecords(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authDefaultAccessSet.parameters, row)
        guard row.code == nil else { return }
        let access = try readJSON(row.json) { try Actions.authDefaultAccessSet.parameters.read($0) }
        #expect(writtenJSON { Actions.authDefaultAccessSet.result.write(access, $0) } == row.json)
    }

    @Test(arguments: [
        FormTests.Row(json: #"{"token":"t9"}"#),
        FormTests.Row(json: "{}", code: .invalidArgument, argument: "token"),
        FormTests.Row(json: #"{"token":9}"#, code: .badRequest, argument: "token"),
    ])
    func theTokenOfTheMergedAccount(_ row: FormTests.Row) throws {
        try FormTests().check(Actions.authMerge.parameters, row)
    }

    @Test(arguments: [
        #"{"finished":false,"records":0,"renamed":[]}"#,
        #"{"finished":true,"records":2,"renamed":[{"from":"note/1","to":"note/1~1","cleared":["slug"]}]}"#,
        #"{"finished":true,"records":2,"renamed":[{"from":"note/1","to":"note/2"}]}"#,
    ])
    func theReportOfAMerge(json: String) throws {
        let codec = Actions.authMerge.result
        let report = try readJSON(json) { try codec.read($0, "result") }
        #expect(writtenJSON { codec.write(report, $0) } == json)
    }

    @Test func theReportOfADeletion() throws {
        let json = #"{"finished":true,"deleted":3,"anonymised":2,"transferred":1,"kept":0}"#
        let codec = Actions.userDelete.result
        let report = try readJSON(json) { try codec.read($0, "result") }
        #expect(report == DeletionReport(isFinished: true, deleted: 3, anonymised: 2, transferred: 1))
        #expect(writtenJSON { codec.write(report, $0) } == json)
    }
}
