import { AppError } from '../errors.ts'
import type { Actor } from '../identity/audit/record.ts'
import { auditRecord } from '../identity/audit/record.ts'
import type { Clock } from '../platform/clock.ts'
import type { OutcomeDefinition, OutcomeStore } from './store.ts'

const DEFINITIONS_MAX = 1_000

export class OutcomeDefinitions {
  private readonly store: OutcomeStore
  private readonly clock: Clock

  constructor(store: OutcomeStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  list(teamId: string): Promise<OutcomeDefinition[]> {
    return this.store.definitions(teamId)
  }

  /** @throws AppError `definition_not_found` */
  async get(teamId: string, id: string): Promise<OutcomeDefinition> {
    const found = await this.store.definition(teamId, id)
    if (found !== null) return found
    throw new AppError('definition_not_found', 'the team has no such definition of outcomes')
  }

  /** @throws AppError `definition_in_use`; `invalid_request` at the bound */
  async put(actor: Actor, definition: OutcomeDefinition): Promise<OutcomeDefinition> {
    const { id, label, windowMonths, badRuleText, maturityMonths } = definition
    const after = {
      label,
      window_months: windowMonths,
      bad_rule_text: badRuleText,
      maturity_months: maturityMonths,
    }
    const change = { action: 'outcome_definition.put', subject: id, after } as const
    const record = auditRecord(actor, change, this.clock.epochMs())
    const done = await this.store.put(actor.teamId, definition, DEFINITIONS_MAX, record)
    if (done === 'stored') return definition
    if (done === 'full') {
      const message = `the team has ${DEFINITIONS_MAX} definitions of outcomes, which is the most`
      throw new AppError('invalid_request', message)
    }
    const message = 'outcomes refer to this definition: use another id for another rule'
    throw new AppError('definition_in_use', message)
  }
}
