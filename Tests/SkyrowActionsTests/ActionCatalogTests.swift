import SkyrowModel
import SkyrowProtocol
import Testing

@Suite struct ActionCatalogTests {
    @Test(arguments: ActionName.allCases)
    func everyActionIsDeclaredUnderItsOwnName(name: ActionName) {
        #expect(ActionCatalog[name].name == name)
    }

    @Test(arguments: ActionName.allCases)
    func summariesAreSentencesAndParametersHaveNamesOfTheirOwn(name: ActionName) {
        let action = ActionCatalog[name]
        #expect(action.summary.hasSuffix("."))
        #expect(action.parameters.allSatisfy { $0.summary.hasSuffix(".") })
        #expect(Set(action.parameters.map(\.name)).count == action.parameters.count)
    }

    @Test(arguments: ActionName.allCases)
    func requiredParametersComeFirst(name: ActionName) {
        let action = ActionCatalog[name]
        let required = action.parameters.map(\.isRequired)
        #expect(required == required.sorted { $0 && !$1 })
    }

    @Test(arguments: ActionName.allCases)
    func errorsAreRegisteredAndNotRepeated(name: ActionName) {
        let action = ActionCatalog[name]
        let errors = action.errors + ActionCatalog.commonErrors
        #expect(errors.allSatisfy { ErrorCode.names[$0] != nil })
        #expect(Set(errors).count == errors.count)
    }

    @Test func whatNeedsAUserTellsThatTheUserMayBeDisabled() {
        for action in ActionCatalog.all {
            switch action.requirement {
            case .user, .userOrMaster, .administrator: #expect(action.errors.contains(.userDisabled))
            case .key, .keyOrToken, .master, .masterOrDevelopment: break
            }
        }
    }
}
