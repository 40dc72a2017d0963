import SkyrowJSON
public import SkyrowModel
import SkyrowWire

// Operators of arrays and of objects in JSON; those of numbers, instants and strings are in SkyrowModel.

extension FieldOperator {
    /// Appends elements to an array, or puts them in front; a missing array becomes these elements.
    public static func push(_ elements: RecordValue..., at end: ArrayEnd = .last) -> FieldOperator {
        push(contentsOf: elements, at: end)
    }

    /// Appends elements to an array, or puts them in front; a missing array becomes these elements.
    public static func push(contentsOf elements: [RecordValue], at end: ArrayEnd = .last) -> FieldOperator {
        FieldOperator(.push(.json(JSONText(elements)), at: end))
    }

    /// Appends those elements to an array that it does not have yet.
    public static func addToSet(_ elements: RecordValue...) -> FieldOperator {
        addToSet(contentsOf: elements)
    }

    /// Appends those elements to an array that it does not have yet.
    public static func addToSet(contentsOf elements: [RecordValue]) -> FieldOperator {
        FieldOperator(.addToSet(.json(JSONText(elements))))
    }

    /// Removes all elements of an array that are equal to one of these.
    public static func pull(_ elements: RecordValue...) -> FieldOperator {
        pull(contentsOf: elements)
    }

    /// Removes all elements of an array that are equal to one of these.
    public static func pull(contentsOf elements: [RecordValue]) -> FieldOperator {
        FieldOperator(.pull(.json(JSONText(elements))))
    }

    /// Replaces one element of an array, counted from 0; the service refuses a number beyond the last with
    /// `108 InvalidArgument`.
    public static func setElement(_ index: Int, to element: RecordValue) -> FieldOperator {
        FieldOperator(.setElement(Int64(index), .json(JSONText(element))))
    }

    /// Gives a member of an object a value, `stats.wins` one of an object inside; objects on the way are made.
    public static func setMember(_ path: String, to value: RecordValue) -> FieldOperator {
        FieldOperator(.setMember(MemberPath(unchecked: path), JSONText(value)))
    }

    /// Computes a number inside of an object: `.setMember("stats.wins", .increment, 1)`.
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
