/**
 * What a deployment must have been after each change, worked out from the answers alone.
 *
 * Written from docs/decisions.md 6 alone, without a look at the service: the answers, put in the
 * order of their `cache_version`, are carried out one after the other on a state that fits on a
 * page.
 */
import { expect } from 'vitest'

export interface State {
  readonly version: number
  readonly champion: string
  readonly previous: string | null
  readonly shadow: boolean
  /** By their ids. */
  readonly challengers: ReadonlyArray<{ id: string; model_id: string; traffic_pct: number }>
}

/** For sorting things with ids. */
export const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

/** A change that was answered with 200. */
export interface Answered {
  readonly kind: string
  // Answers are read as they came, their schemas are checked elsewhere.
  readonly body: ReturnType<typeof JSON.parse>
}

/**
 * The states after each change, the first state first.
 *
 * Fails where the answers can't be those of changes made one after the other: a version missing or
 * twice, an answer that does not fit the state before it, more than 50 percent.
 */
export function replay(first: State, answered: readonly Answered[]): State[] {
  const ordered = [...answered].sort((a, b) => a.body.cache_version - b.body.cache_version)
  const versions = ordered.map(({ body }) => body.cache_version)
  expect(versions).toEqual(answered.map((_, index) => first.version + 1 + index))
  const states = [first]
  for (const { kind, body } of ordered) {
    const before = states.at(-1) ?? first
    const next = { ...before, ...apply(before, kind, body), version: body.cache_version }
    const total = next.challengers.reduce((sum, { traffic_pct }) => sum + traffic_pct, 0)
    expect(total).toBeLessThanOrEqual(50)
    states.push(next)
  }
  return states
}

function apply(before: State, kind: string, body: Answered['body']): Partial<State> {
  const { challengers } = before
  const isThere = (id: string) => challengers.some((entry) => entry.id === id)
  const { is_active: _isActive, ...entry } = body.challenger ?? {}
  switch (kind) {
    case 'add_challenger':
      expect(challengers.map(({ model_id }) => model_id)).not.toContain(entry.model_id)
      expect(entry.model_id).not.toBe(before.champion)
      return { challengers: [...challengers, entry].sort(byId) }
    case 'remove_challenger':
      expect(challengers).toContainEqual(entry)
      return { challengers: challengers.filter(({ id }) => id !== entry.id) }
    case 'update_traffic':
      expect(isThere(entry.id)).toBe(true)
      return { challengers: challengers.map((one) => (one.id === entry.id ? entry : one)) }
    case 'toggle_shadow':
      return { shadow: body.shadow_mode }
    case 'promote': {
      expect(challengers.map(({ model_id }) => model_id)).toContain(body.promoted_model_id)
      expect(body.previous_champion_id).toBe(before.champion)
      expect(body.challengers_deactivated).toBe(challengers.length - 1)
      return { champion: body.promoted_model_id, previous: before.champion, challengers: [] }
    }
    case 'rollback': {
      expect(body.rolled_back_from.model_id).toBe(before.champion)
      expect(body.rolled_back_to.model_id).toBe(before.previous)
      expect(body.challengers_deactivated).toBe(challengers.length)
      return { champion: body.rolled_back_to.model_id, previous: before.champion, challengers: [] }
    }
    default:
      throw new Error(`no such change: ${kind}`)
  }
}
