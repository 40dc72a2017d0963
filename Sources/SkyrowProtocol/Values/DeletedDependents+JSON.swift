package import SkyrowJSON
package import SkyrowModel

extension DeletedDependents {
    /// Reads what an entry of the result of `record:delete` says of other records; ids that are none are left out.
    package init(_ json: JSONView) {
        let ids = json["deleted"].map { list in
            list.elements.compactMap { element in element.string.flatMap { try? RecordID($0) } }
        }
        self.init(ids: ids ?? [], hidden: json["deleted_hidden"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0)
    }
}
