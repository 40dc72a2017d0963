internal import SkyrowModel
import SkyrowProtocol

extension OperatorTable {
    /// The shape of a predicate: one alternative for all operators with the same operands.
    static let shape = JSONShape.either(
        forms.map { operands, names in
            let name = JSONShape.oneOfStrings(names)
            return switch operands {
            case .joined: .tuple([name], rest: .named(.predicate))
            case .predicates: .tuple([name, .named(.predicate)], rest: .named(.predicate))
            case .predicate: .tuple([name, .named(.predicate)], rest: nil)
            case .elements: .tuple([name, .any, .named(.predicate)], rest: nil)
            case .comparison, .pattern, .text, .element, .membership, .list, .flag, .query, .polygon:
                .tuple([name, .any, .any], rest: nil)
            case .range, .box: .tuple([name, .any, .any, .any], rest: nil)
            case .near: .tuple([name, .any, .any], rest: .any)
            case .owner, .words: .tuple([name, .any, .string()], rest: nil)
            case .regex: .tuple([name, .any, .string()], rest: .oneOfStrings(["i"]))
            }
        }
    )

    /// The names of operators by their operands, in the order of the table.
    private static var forms: [(operands: QueryOperator.Operands, names: [String])] {
        var forms: [(operands: QueryOperator.Operands, names: [String])] = []
        for row in all {
            if let place = forms.firstIndex(where: { $0.operands == row.operands }) {
                forms[place].names.append(row.name)
            } else {
                forms.append((row.operands, [row.name]))
            }
        }
        return forms
    }
}
