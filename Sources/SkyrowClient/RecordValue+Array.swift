import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

extension RecordValue {
    /// The elements of an array; nil for any other value.
    ///
    /// ```swift
    /// let draft = try RecordDraft("note/1", ["tags": ["shop", "food"]])
    /// let tags = record["tags"]?.arrayValue?.compactMap(\.stringValue)
    /// ```
    ///
    /// An element that is NULL in the database is ``null``; a nested array or object is ``json(_:)``.
    public var arrayValue: [RecordValue]? {
        switch self {
        case .array(let elements): elements
        case .json(let text):
            (try? JSONDocument(text.utf8))?.withRoot { root -> [RecordValue]? in
                guard root.isArray else { return nil }
                var elements: [RecordValue] = []
                elements.reserveCapacity(root.count)
                for json in root.elements {
                    guard let element = try? RecordValue(json, field: "") else { return nil }
                    // The address of a file inside JSON is only what its writer sent.
                    if case .asset(let asset) = element {
                        elements.append(.asset(Asset(asset.name)))
                    } else {
                        elements.append(element)
                    }
                }
                return elements
            }
        default: nil
        }
    }
}
