import Foundation
import SkyrowModel
import Testing

@testable import SkyrowRemote

/// Signatures equal those of botocore, which Tests/Clients/s3/vectors has made. `SKYROW_S3_VECTORS` names a file with more of them.
@Suite struct SigV4Tests {
    private static var vectors: [[String]] {
        get throws {
            let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures/S3")
            let named = ProcessInfo.processInfo.environment["SKYROW_S3_VECTORS"]
            let path = named ?? fixtures.appending(path: "signatures.tsv").path(percentEncoded: false)
            return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
                try line.split(separator: "\t", omittingEmptySubsequences: false).map { value in
                    try #require(String(value).removingPercentEncoding)
                }
            }
        }
    }

    /// `a=b&c=d`, encoded.
    private static func pairs(_ text: String) throws -> [(name: String, value: String)] {
        try text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
            return (try #require(parts[0].removingPercentEncoding), try #require(parts[1].removingPercentEncoding))
        }
    }

    private static func text(_ pairs: [(name: String, value: String)]) -> [String] {
        pairs.map { "\($0.name)=\($0.value)" }.sorted()
    }

    private static func time(_ seconds: String) throws -> SigningTime {
        let second = try #require(Int64(seconds))
        return SigningTime(Timestamp(microseconds: second * 1_000_000 - Timestamp.unixEpochOffset))
    }

    @Test func signaturesAreThoseOfBotocore() throws {
        var counts: [String: Int] = [:]
        for row in try Self.vectors {
            counts[row[0], default: 0] += 1
            let signer = SigV4(accessKey: row[1], secretKey: row[2], region: row[3])
            let time = try Self.time(row[4])
            switch row[0] {
            case "headers":
                let request = SigV4.Request(
                    method: row[5],
                    path: row[6],
                    query: try Self.pairs(row[7]),
                    fields: try Self.pairs(row[8])
                )
                #expect(signer.authorization(of: request, payload: row[9], at: time) == row[10])
            case "address":
                let request = SigV4.Request(
                    method: row[5],
                    path: row[6],
                    query: try Self.pairs(row[7]),
                    fields: try Self.pairs(row[8])
                )
                let query = signer.query(of: request, seconds: try #require(Int(row[9])), at: time)
                #expect(try Self.text(Self.pairs(query)) == Self.text(Self.pairs(row[10])))
            case "policy":
                let (low, high) = (try #require(Int64(row[6])), try #require(Int64(row[7])))
                let fields = try Self.pairs(row[5]).map { SigV4.PostCondition.field($0.name, equals: $0.value) }
                let signed = signer.fields(
                    ofPolicy: fields + [.length(low...high)],
                    until: try Self.time(row[8]),
                    at: time
                )
                #expect(try Self.text(signed) == Self.text(Self.pairs(row[9])))
            default:
                Issue.record("\(row[0])")
            }
        }
        for kind in ["headers", "address", "policy"] { #expect(counts[kind, default: 0] >= 100) }
    }

    /// The example of Amazon's documentation of presigned addresses.
    @Test func anAddressIsThatOfTheDocumentation() throws {
        let signer = SigV4(
            accessKey: "AKIAIOSFODNN7EXAMPLE",
            secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1"
        )
        let request = SigV4.Request(
            method: "GET",
            path: "/test.txt",
            fields: [("host", "examplebucket.s3.amazonaws.com")]
        )
        // 2013-05-24T00:00:00Z
        let query = signer.query(of: request, seconds: 86400, at: try Self.time("1369353600"))
        #expect(
            query == """
                X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """
        )
    }

    @Test func theTimeOfASignatureHasWholeSeconds() {
        // 2000-01-01T00:00:01.999999Z and 1999-12-31T23:59:58.5Z
        #expect(SigningTime(Timestamp(microseconds: 1_999_999)).stamp == "20000101T000001Z")
        #expect(SigningTime(Timestamp(microseconds: -1_500_000)).instant == "1999-12-31T23:59:58Z")
    }
}
