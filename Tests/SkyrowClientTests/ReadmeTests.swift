import Foundation
import Testing

@Suite struct ReadmeTests {
    /// ReadmeSnippet.swift is compiled with these tests, so what the README shows compiles too.
    @Test func theSwiftOfTheReadmeIsCompiled() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let snippet = try String(contentsOf: tests.appending(path: "ReadmeSnippet.swift"), encoding: .utf8)
        #expect(readme.contains("```swift\n\(snippet)```"))
    }
}
