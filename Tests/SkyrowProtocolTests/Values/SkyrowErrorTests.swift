import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

@Suite struct SkyrowErrorTests {
    static let rows: [(SkyrowError, String)] = [
        (
            SkyrowError(.resourceNotFound, "The record does not exist."),
            #"{"name":"ResourceNotFound","code":110,"message":"The record does not exist."}"#
        ),
        (
            .invalidArgument("\"ids\" is empty.", "ids"),
            #"{"name":"InvalidArgument","code":108,"message":"\"ids\" is empty.","info":{"arguments":["ids"]}}"#
        ),
        (
            SkyrowError(
                .rateLimited,
                "Wait.",
                info: ["retry_after": .integer(3), "b": .boolean(true), "s": .string("x")]
            ),
            #"{"name":"RateLimited","code":131,"message":"Wait.","info":{"b":true,"retry_after":3,"s":"x"}}"#
        ),
        (
            SkyrowError(
                .atomicOperationFailure,
                "Nothing was saved.",
                info: [
                    "note/2": .error(SkyrowError(.permissionDenied, "No.")),
                    "note/1": .error(.invalidArgument("Bad.", "f")),
                ]
            ),
            #"{"name":"AtomicOperationFailure","code":115,"message":"Nothing was saved.","info":{"note/1":{"name":"InvalidArgument","code":108,"message":"Bad.","info":{"arguments":["f"]}},"note/2":{"name":"PermissionDenied","code":102,"message":"No."}}}"#
        ),
        (
            SkyrowError(
                .conflict,
                "Changed.",
                info: ["record": .record(Record(id: recordID("n/1"), fields: [fieldName("a"): .integer(1)]))]
            ),
            #"{"name":"Conflict","code":130,"message":"Changed.","info":{"record":{"_id":"n/1","_type":"record","_access":null,"a":1}}}"#
        ),
        (SkyrowError(ErrorCode(rawValue: 4711), "Odd."), #"{"name":"ErrorCode(4711)","code":4711,"message":"Odd."}"#),
    ]

    @Test(arguments: rows)
    func errorsHaveTheFormOfSkygear(error: SkyrowError, text: String) throws {
        #expect(writtenJSON { $0.error(error) } == text)
        #expect(try readJSON(text) { SkyrowError($0) } == error)
    }

    @Test(arguments: rows)
    func errorsAreTheSameThroughBothDoors(error: SkyrowError, text: String) throws {
        let rpc = writtenJSON { $0.rpcError(error) }
        #expect(try readJSON(rpc) { SkyrowError(rpc: $0) } == error)
    }

    @Test func jsonRPCHasNameAndInfoUnderData() {
        let error = SkyrowError.invalidArgument("Bad.", "ids")
        #expect(
            writtenJSON { $0.rpcError(error) }
                == #"{"code":108,"message":"Bad.","data":{"name":"InvalidArgument","info":{"arguments":["ids"]}}}"#
        )
        #expect(
            writtenJSON { $0.rpcError(SkyrowError(rpcParseError: JSONParseError(.invalidNumber, at: 3))) }
                == #"{"code":-32700,"message":"The JSON text has an invalid number (at byte 3).","data":{"name":"ParseError","info":{"offset":3}}}"#
        )
        #expect(SkyrowError(unreadable: JSONParseError(.invalidNumber, at: 3)).code == .badRequest)
    }

    @Test func anInstantInInfoIsAPlainString() {
        let error = SkyrowError(.userDisabled, "Disabled.", info: ["expiry": .datetime(Timestamp(microseconds: 0))])
        #expect(
            writtenJSON { $0.error(error) }
                == #"{"name":"UserDisabled","code":127,"message":"Disabled.","info":{"expiry":"2000-01-01T00:00:00Z"}}"#
        )
    }

    @Test func anErrorWithoutMembersIsUnexpected() throws {
        #expect(try readJSON("{}") { SkyrowError($0) }.code == .unexpectedError)
    }
}
