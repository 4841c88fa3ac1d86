// As much of the peers' types as is used here, so that types are checked where they are not
// installed.

declare module '@gorules/zen-engine' {
  export class ZenDecisionContent {
    constructor(content: object)
  }
  export class ZenDecision {
    evaluate(context: object): Promise<{ readonly result: unknown }>
  }
  export class ZenEngine {
    createDecision(content: ZenDecisionContent): ZenDecision
  }
}

declare module 'json-rules-engine' {
  interface Condition {
    readonly fact: string
    readonly operator: string
    readonly value: unknown
  }
  interface Event {
    readonly type: string
    readonly params?: Record<string, unknown>
  }
  export class Engine {
    constructor(rules: readonly object[], options: { readonly allowUndefinedFacts: boolean })
    addRule(rule: {
      readonly conditions: { readonly all: readonly Condition[] }
      readonly event: Event
    }): this
    run(facts: object): Promise<{ readonly events: readonly Event[] }>
  }
}
