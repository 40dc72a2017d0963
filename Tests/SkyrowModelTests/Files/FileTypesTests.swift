import SkyrowModel
import Testing

/// The setting `file-types`.
@Suite struct FileTypesTests {
    private static let rows: [(String, String, Bool)] = [
        ("*/*", "image/png", true), ("*/*", "text/html", true), ("*/*", "application/octet-stream", true),
        ("*/*", "no type", false),
        ("image/*", "image/png", true), ("image/*", "image/svg+xml", true), ("image/*", "imagex/png", false),
        ("image/*", "application/image", false), ("image/*", "video/mp4", false),
        ("image/png", "image/png", true), ("image/png", "image/apng", false), ("image/png", "image/pngx", false),
        ("image/*,application/pdf", "application/pdf", true), ("image/*,application/pdf", "application/zip", false),
        (" Image/PNG ,\tAPPLICATION/pdf ", "application/pdf", true), ("image/png", "IMAGE/PNG", true),
        // The names that clients use for one type
        ("image/jpeg", "image/jpg", true), ("image/jpg", "image/jpeg", true),
        ("text/plain", "text/plain; charset=utf-8", true),
    ]

    @Test(arguments: rows)
    func aListAdmitsItsTypes(list: String, type: String, isAdmitted: Bool) throws {
        let types = try #require(FileTypes(list))
        #expect(types.admits(type) == isAdmitted)
    }

    @Test(arguments: [
        "", " ", ",", "image/png,", ",image/png", "image", "image/", "*", "*/png", "/*", "image/**", "ima*/png",
        "image/png;q=1", "image/png image/gif", "im age/*", "image/png\r\n",
    ])
    func anyOtherTextIsRefused(text: String) {
        #expect(FileTypes(text) == nil)
    }

    @Test func aListIsWrittenInOneForm() {
        #expect(FileTypes(" Image/* , application/PDF")?.description == "image/*,application/pdf")
        #expect(FileTypes("*/*") == FileTypes.every)
    }
}
