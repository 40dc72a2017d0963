import SkyrowModel
import Testing

/// The sizes of thumbnails in addresses and settings.
@Suite struct ThumbnailSizeTests {
    @Test(
        arguments: [
            ("100x100", .fill(width: 100, height: 100)), ("1x4096", .fill(width: 1, height: 4096)),
            ("400x300f", .fit(width: 400, height: 300)), ("400x0", .width(400)), ("0x400", .height(400)),
            // Each size has one text, since it is the name of a file.
            ("0100x100", nil), ("+1x1", nil), ("-1x1", nil), (" 1x1", nil), ("1x1 ", nil), ("1X1", nil), ("1x1F", nil),
            ("1.0x1", nil), ("1e2x1", nil), ("٣x٣", nil), ("1x1\0", nil), ("1×1", nil),
            ("0x0", nil), ("0x0f", nil), ("400x0f", nil), ("0x400f", nil),
            ("4097x1", nil), ("1x4097", nil), ("99999999999999999999x1", nil),
            ("", nil), ("x", nil), ("1x", nil), ("x1", nil), ("f", nil), ("1", nil), ("1x1x1", nil), ("1x1ff", nil),
            ("../x1", nil), ("100x100/..", nil),
        ] as [(String, ThumbnailSize?)]
    )
    func aTextIsASizeOrNone(text: String, size: ThumbnailSize?) {
        #expect(ThumbnailSize(text) == size)
        if let size { #expect(size.description == text) }
    }

    @Test func aThumbnailHasTheSignatureOfItsFile() throws {
        let name = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "cat.jpg")
        let url = "https://example.com/files/\(name)"
        let signed = Asset(name, url: "\(url)?expiredAt=1&signature=x")
        #expect(signed.thumbnailURL(.fit(width: 400, height: 400)) == "\(url)?expiredAt=1&signature=x&thumb=400x400f")
        #expect(Asset(name, url: url).thumbnailURL(.width(400)) == "\(url)?thumb=400x0")
        #expect(Asset(name).thumbnailURL(.width(400)) == nil)
    }
}
