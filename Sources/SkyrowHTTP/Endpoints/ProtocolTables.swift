import SkyrowModel
package import SkyrowProtocol

/// The tables of parameters and results in Documentation/Protocol, between markers:
///
///     <!-- parameters and result of role:add -->
///     <!-- end -->
///
/// `members of Role` are those of a shape that several actions share.
package struct ProtocolTables {
    private let actions: [String: ActionDescription]

    package init(_ actions: [ActionDescription]) {
        self.actions = Dictionary(actions.map { ($0.name.rawValue, $0) }) { first, _ in first }
    }

    /// Returns a page with new tables between its markers. A marker with an unknown name is ignored.
    package func filled(_ page: String) -> String {
        var lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        var place = lines.startIndex
        while place < lines.endIndex {
            let start = place + 1
            if let table = table(for: lines[place]), let end = lines[start...].firstIndex(where: \.isMarker),
                lines[end] == "<!-- end -->"
            {
                let rows = table.split(separator: "\n", omittingEmptySubsequences: false)
                lines.replaceSubrange(start..<end, with: [""] + rows + [""])
            }
            place = start
        }
        return lines.joined(separator: "\n")
    }

    private func table(for line: Substring) -> String? {
        guard line.isMarker, let name = line.split(separator: " ").dropLast().last.map(String.init) else { return nil }
        return switch line {
        case "<!-- parameters and result of \(name) -->": actions[name].map(parametersAndResult)
        case "<!-- members of \(name) -->":
            JSONShapeName(rawValue: name).map { table("Member", results(of: $0.documentedShape)) }
        default: nil
        }
    }

    private func parametersAndResult(of action: ActionDescription) -> String {
        let members = action.parameters.map { JSONMember($0.name, $0.shape, isRequired: $0.isRequired, $0.summary) }
        let parameters = rows(of: .object(members)) { $0 ? ", required" : "" }
        return (parameters.isEmpty ? "No parameters." : table("Parameter", parameters)) + "\n\n"
            + result(action.result)
    }

    private func result(_ shape: JSONShape) -> String {
        switch shape {
        case .object(let members, _) where !members.isEmpty: table("Result", results(of: shape))
        case .array(let element, _, _) where !results(of: element).isEmpty:
            "Result: an array. Each entry has these members:\n\n" + table("Member", results(of: element))
        default: "Result: \(cell(shape))."
        }
    }

    private func results(of shape: JSONShape) -> [[String]] { rows(of: shape) { $0 ? "" : ", may be absent" } }

    /// The members of an object, and those of the objects in it after their names: `info.count`, `keys[].id`.
    private func rows(
        of shape: JSONShape,
        below path: String = "",
        presence: (_ isRequired: Bool) -> String
    ) -> [[String]] {
        switch shape {
        case .object(let members, _):
            members.flatMap { member in
                let name = path + member.name
                // A member that may be absent may be null as well.
                let shape = member.isRequired ? member.shape : member.shape.unwrapped
                let inner = path.isEmpty ? rows(of: shape, below: name + ".", presence: presence) : []
                let type = cell(inner.isEmpty ? shape : shape.outline) + presence(member.isRequired)
                return [["`\(name)`", type, member.summary]] + inner
            }
        case .array(let element, _, _) where !path.isEmpty:
            rows(of: element, below: path.dropLast() + "[].", presence: presence)
        default: []
        }
    }

    private func cell(_ shape: JSONShape) -> String {
        shape.words() + (shape.bounds.map { " (\($0))" } ?? "")
    }

    private func table(_ heading: String, _ rows: [[String]]) -> String {
        // Results without sentences have no column for them.
        let columns = rows.allSatisfy { $0[2].isEmpty } ? 2 : 3
        let line = { (cells: [String]) in
            "|" + cells.prefix(columns).map { $0.isEmpty ? " |" : " \($0.replacing("|", with: "\\|")) |" }.joined()
        }
        let head = [line([heading, "Type", "Meaning"]), "|" + String(repeating: "---|", count: columns)]
        return (head + rows.map(line)).joined(separator: "\n")
    }
}

extension JSONShape {
    fileprivate var unwrapped: JSONShape { if case .nullable(let shape) = self { shape } else { self } }

    /// The shape without the members of its objects, which have separate rows.
    fileprivate var outline: JSONShape {
        switch self {
        case .object: .object([], others: .any)
        case .array(let element, let minimum, let maximum):
            .array(of: element.outline, minimum: minimum, maximum: maximum)
        default: self
        }
    }
}

extension Substring {
    fileprivate var isMarker: Bool { hasPrefix("<!-- ") && hasSuffix(" -->") }
}
