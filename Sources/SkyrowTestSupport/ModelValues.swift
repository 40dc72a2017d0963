package import SkyrowModel

// Names and ids in tests are valid.

package func type(_ name: String) -> RecordTypeName { try! RecordTypeName(name) }
package func field(_ name: String) -> FieldName { try! FieldName(name) }
package func id(_ text: String) -> RecordID { try! RecordID(text) }

extension Caller {
    package static let ann = Caller(kind: .user("ann"))
    package static let bob = Caller(kind: .user("bob"))
    package static let master = Caller(kind: .master(actingAs: nil))

    /// Returns the same caller with a named key.
    package func withKey(_ name: KeyName) -> Caller {
        var caller = self
        caller.keyName = name
        return caller
    }
}
