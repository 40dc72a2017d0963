import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

// Operators of arrays and JSON objects; those of numbers, dates and strings are in SkyrowModel.

extension FieldOperator {
    /// Appends elements to an array, or prepends them; a missing array becomes these elements.
    public static func push(_ elements: RecordValue..., at end: ArrayEnd = .last) -> FieldOperator {
        push(contentsOf: elements, at: end)
    }

    /// Appends elements to an array, or prepends them; a missing array becomes these elements.
    public static func push(contentsOf elements: [RecordValue], at end: ArrayEnd = .last) -> FieldOperator {
        FieldOperator(.push(.json(JSONText(elements)), at: end))
    }

    /// Appends the elements that an array does not have yet.
    public static func addToSet(_ elements: RecordValue...) -> FieldOperator {
        addToSet(contentsOf: elements)
    }

    /// Appends the elements that an array does not have yet.
    public static func addToSet(contentsOf elements: [RecordValue]) -> FieldOperator {
        FieldOperator(.addToSet(.json(JSONText(elements))))
    }

    /// Removes all elements of an array that equal one of these.
    public static func pull(_ elements: RecordValue...) -> FieldOperator {
        pull(contentsOf: elements)
    }

    /// Removes all elements of an array that equal one of these.
    public static func pull(contentsOf elements: [RecordValue]) -> FieldOperator {
        FieldOperator(.pull(.json(JSONText(elements))))
    }

    /// Replaces the element of an array at an index from 0; the service refuses an index beyond the last with
    /// `108 InvalidArgument`.
    public static func setElement(_ index: Int, to element: RecordValue) -> FieldOperator {
        FieldOperator(.setElement(Int64(index), .json(JSONText(element))))
    }

    /// Sets a member of an object; `stats.wins` is a member of a nested object. Missing objects on the path are created.
    public static func setMember(_ path: String, to value: RecordValue) -> FieldOperator {
        FieldOperator(.setMember(MemberPath(unchecked: path), JSONText(value)))
    }

    /// Computes a number inside an object: `.setMember("stats.wins", .increment, 1)`.
    public static func setMember(_ path: String, _ arithmetic: Arithmetic, _ number: RecordValue) -> FieldOperator {
        FieldOperator(.computeMember(MemberPath(unchecked: path), arithmetic, JSONText(number)))
    }
}

extension JSONText {
    fileprivate init(_ value: RecordValue) {
        let writer = JSONWriter(capacity: 64)
        writer.value(value)
        self = writer.jsonText
    }

    fileprivate init(_ elements: [RecordValue]) {
        let writer = JSONWriter()
        writer.beginArray()
        for element in elements { writer.value(element) }
        writer.endArray()
        self = writer.jsonText
    }
}
