import Testing

@testable import SkyrowRemote

@Suite struct S3XMLTests {
    @Test func aListIsRead() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- a > b -->
            <s3:ListBucketResult xmlns:s3="http://s3.amazonaws.com/doc/2006-03-01/" a='x>"y'>
              <IsTruncated>true</IsTruncated><Prefix/><Empty></Empty>
              <Contents><Key>a&amp;b &lt;&#228;&#x1F408;&gt;&quot;&apos;</Key><Size>12</Size></Contents>
              <!-- <Contents/> -->
              <Contents ><Key>c</Key><Size>0</Size></Contents >
            </s3:ListBucketResult>

            """
        let list = try #require(S3XML(text.utf8))
        #expect(list.name == "ListBucketResult")
        #expect(list["IsTruncated"] == "true" && list["Prefix"] == "" && list["Empty"] == "" && list["Key"] == nil)
        #expect(list.all("Contents").map { $0["Key"] } == ["a&b <ä🐈>\"'", "c"])
        #expect(list.all("Contents").map { $0["Size"] } == ["12", "0"])
    }

    @Test(arguments: [
        "", " ", "text", "<", "<a", "<a>", "<a><b></a></b>", "<a></b>", "<a/><b/>", "<a/>text", "</a>", "< a/>",
        "<a b='>",
        "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a>&b;</a>", "<a>&amp</a>", "<a>&#xD800;</a>",
        "<a>&#xFFFFFFFFF;</a>", "<a>&#;</a>", "<a><![CDATA[b]]></a>", "<?xml", "<!-- -- ><a/>", "<a><!-- </a>",
        "<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>",
    ])
    func whatIsNoDocumentIsNotRead(_ text: String) {
        #expect(S3XML(text.utf8) == nil)
    }

    @Test func aDocumentHasBoundedLengthAndDepth() {
        #expect(S3XML("<a><b><c><d><e><f><g><h/></g></f></e></d></c></b></a>".utf8) != nil)
        func document(_ count: Int) -> [UInt8] {
            Array("<a>".utf8) + [UInt8](repeating: 0x78, count: count - 7) + Array("</a>".utf8)
        }
        #expect(S3XML(document(S3XML.maximumBytes)) != nil)
        #expect(S3XML(document(S3XML.maximumBytes + 1)) == nil)
    }
}
