import SkyrowModel
import Testing

@testable import SkyrowRemote

@Suite struct S3BucketTests {
    private func bucket(_ name: String = "files", at endpoint: String, usesPathStyle: Bool = false) -> S3Bucket? {
        S3Bucket(
            name,
            at: endpoint,
            region: "eu-central-1",
            accessKey: "key",
            secretKey: "secret",
            usesPathStyle: usesPathStyle
        )
    }

    @Test(arguments: [
        ("https://s3.example.org", false, "https://files.s3.example.org/", "https://files.s3.example.org/app/a-b.png"),
        (
            "https://S3.example.org:443/", false, "https://files.s3.example.org/",
            "https://files.s3.example.org/app/a-b.png"
        ),
        ("https://s3.example.org", true, "https://s3.example.org/files", "https://s3.example.org/files/app/a-b.png"),
        ("http://127.0.0.1:9000", true, "http://127.0.0.1:9000/files", "http://127.0.0.1:9000/files/app/a-b.png"),
        ("http://[::1]:80", true, "http://[::1]/files", "http://[::1]/files/app/a-b.png"),
        (
            "https://minio.internal:80", true, "https://minio.internal:80/files",
            "https://minio.internal:80/files/app/a-b.png"
        ),
    ])
    func anObjectHasAnAddress(_ endpoint: String, _ usesPathStyle: Bool, _ whole: String, _ object: String) throws {
        let bucket = try #require(self.bucket(at: endpoint, usesPathStyle: usesPathStyle))
        #expect(bucket.address(bucket.path(of: nil)) == whole)
        #expect(bucket.address(bucket.path(of: "app/a-b.png")) == object)
        #expect(bucket.address(bucket.path(of: nil), query: "a=b") == "\(whole)?a=b")
        #expect(bucket.path(of: "a b/ä").hasSuffix("/a%20b/%C3%A4"))
    }

    @Test(arguments: [
        "", "s3.example.org", "ftp://s3.example.org", "https://", "https:///", "https://a@s3.example.org",
        "https://s3.example.org/path", "https://s3.example.org?a", "https://s3.example.org:0", "https://s3 example.org",
        "https://s3.example.org\r\n", "https://\(String(repeating: "a", count: 500)).org",
    ])
    func otherEndpointsAreRefused(_ endpoint: String) {
        #expect(bucket(at: endpoint) == nil)
    }

    @Test(arguments: [
        ("files", true), ("a.b-1", true), ("abc", true), (String(repeating: "a", count: 63), true), ("ab", false),
        (String(repeating: "a", count: 64), false), ("Files", false), ("a_b", false), ("a/b", false), (".abc", false),
        ("abc.", false), ("a..b", false), ("äbc", false), ("", false),
    ])
    func aBucketHasAName(_ name: String, _ isName: Bool) {
        #expect(S3Bucket.isName(name) == isName)
        #expect((bucket(name, at: "https://s3.example.org") != nil) == isName)
    }

    @Test func aDownloadHasItsTypeAndDisposition() throws {
        let bucket = try #require(self.bucket(at: "https://s3.example.org"))
        let address = bucket.address(
            of: "app/a-b.png",
            contentType: "text/plain; charset=utf-8",
            disposition: "inline; filename=\"a.png\"",
            seconds: 60,
            at: Timestamp(microseconds: 0)
        )
        let start = "https://files.s3.example.org/app/a-b.png?X-Amz-Algorithm=AWS4-HMAC-SHA256&"
        #expect(address.hasPrefix(start))
        #expect(address.contains("&X-Amz-Date=20000101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&"))
        #expect(address.contains("&response-content-disposition=inline%3B%20filename%3D%22a.png%22&"))
        #expect(address.contains("&response-content-type=text%2Fplain%3B%20charset%3Dutf-8&X-Amz-Signature="))
        #expect(!address.contains("secret"))
    }

    @Test func aFormIsForOneFile() throws {
        let bucket = try #require(self.bucket(at: "https://s3.example.org"))
        let form = bucket.form(
            for: "app/a-b.png",
            contentType: "image/png",
            size: 12,
            seconds: 900,
            at: Timestamp(microseconds: 0)
        )
        #expect(form.address == "https://files.s3.example.org/")
        #expect(
            form.fields.map(\.name) == [
                "key", "Content-Type", "success_action_status", "x-amz-algorithm", "x-amz-credential", "x-amz-date",
                "policy", "x-amz-signature",
            ]
        )
        let values = Dictionary(uniqueKeysWithValues: form.fields.map { ($0.name, $0.value) })
        #expect(values["key"] == "app/a-b.png" && values["Content-Type"] == "image/png")
        // {"expiration": "2000-01-01T00:15:00Z", "conditions": [{"bucket": "files"}, ["content-length-range", 12, 12], …
        let start = """
            eyJleHBpcmF0aW9uIjogIjIwMDAtMDEtMDFUMDA6MTU6MDBaIiwgImNvbmRpdGlvbnMiOiBbeyJidWNrZXQiOiAiZmlsZXMifSwgWyJjb250ZW50LWxl\
            bmd0aC1yYW5nZSIsIDEyLCAxMl0sIHsia2V5Ijog
            """
        #expect(values["policy"]?.hasPrefix(start) == true)
    }

    @Test func aRequestIsSignedWithWhatItSends() throws {
        let bucket = try #require(self.bucket(at: "http://127.0.0.1:9000", usesPathStyle: true))
        let time = SigningTime(Timestamp(microseconds: 0))
        let get = S3Request(.get, "app/a", range: 5..<10).signed(for: bucket, payload: "hash", at: time)
        #expect(get.address == "http://127.0.0.1:9000/files/app/a")
        #expect(get.fields.map(\.name) == ["host", "x-amz-content-sha256", "x-amz-date", "range", "authorization"])
        #expect(get.fields.map(\.value).prefix(4) == ["127.0.0.1:9000", "hash", "20000101T000000Z", "bytes=5-9"])
        #expect(get.fields.last?.value.contains("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,") == true)
        let list = S3Request(.list, query: [("prefix", "app/"), ("list-type", "2")])
        #expect(
            list.signed(for: bucket, payload: "hash", at: time).address
                == "http://127.0.0.1:9000/files?list-type=2&prefix=app%2F"
        )
    }
}
