import Foundation
import SkyrowModel
import Testing

/// Documentation/Protocol.md says what the service does; here the service is asked whether that is so.
@Suite struct ProtocolTests {
    let manual: ProtocolManual

    init() throws {
        manual = try ProtocolManual()
    }

    @Test func everyActionHasAnExampleThatSucceeds() throws {
        let shown = try manual.examples.filter { $0.status == 200 }.map { try ProtocolJSON($0.request)["method"] }
        let missing = ActionName.allCases.filter { !shown.contains(.string($0.rawValue)) }
        #expect(missing.isEmpty)
    }

    @Test(arguments: ActionName.allCases)
    func theSectionOfAnActionNamesItsNeedAndParameters(_ name: ActionName) throws {
        let action = ActionCatalog[name]
        let section = try #require(manual.section("### \(name.rawValue)"))
        #expect(section.contains("*Needs: \(action.need.words)"))
        for parameter in action.parameters {
            #expect(section.contains("`\(parameter.name)`"), "\(name.rawValue) has a parameter \(parameter.name)")
        }
    }

    @Test func theTableOfErrorsIsTheRegistry() throws {
        let rows = try #require(manual.section("## 3. Errors")).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| (-?\d+) \| (\w+) \|/).map { (Int($0.1), String($0.2)) }
        }
        #expect(rows.count == Set(rows.map(\.0)).count)
        let shown = Dictionary(rows, uniquingKeysWith: { first, _ in first })
        let registry = Dictionary(ErrorCode.names.map { ($0.rawValue, $1) }, uniquingKeysWith: { first, _ in first })
        #expect(shown == registry)
    }
}

extension ProtocolManual {
    /// The text from a heading to the next one of its level or above.
    func section(_ heading: String) -> String? {
        let level = heading.prefix { $0 == "#" }.count
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: heading[...]) else { return nil }
        let rest = lines[(start + 1)...]
        let end = rest.firstIndex { line in
            let count = line.prefix { $0 == "#" }.count
            return (1...level).contains(count) && line.dropFirst(count).first == " "
        }
        return rest[..<(end ?? rest.endIndex)].joined(separator: "\n")
    }
}

extension ActionNeed {
    /// How the manual says it.
    fileprivate var words: String {
        switch self {
        case .key: "key."
        case .keyOrToken: "key or token."
        case .user: "user."
        case .userOrMaster: "user or master"
        case .administrator: "administrator."
        case .masterOrDevelopment: "master, or development."
        }
    }
}
