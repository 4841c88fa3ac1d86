import pLimit from 'p-limit'
import type { Environment } from '../access/caller.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { ScoredApplicant } from './applicant.ts'
import { type OutcomeFact, type OutcomeItem, type ReadItem, readItem } from './item.ts'
import type { Match, OutcomeMatcher } from './matcher.ts'

export const OUTCOME_STATUSES = [
  'accepted',
  'unchanged',
  'revised',
  'unmatched',
  'ambiguous',
  'invalid',
] as const
export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number]
export type OutcomeCounts = Readonly<Record<OutcomeStatus, number>>

/** What became of one item. */
export interface OutcomeResult {
  readonly status: OutcomeStatus
  readonly applicant: ScoredApplicant | null
  /** Null without an applicant. */
  readonly matchedOf: number | null
  readonly message: string | null
}

/** Who sends outcomes. */
export interface OutcomeSender {
  readonly teamId: string
  /** Only deployments of this environment; null: all. */
  readonly environment: Environment | null
  /** Id of the user or the key. */
  readonly by: string
}

export interface MatchedFact {
  readonly applicant: ScoredApplicant
  readonly fact: OutcomeFact
}

/** What one transaction stores. */
export interface OutcomeWrite {
  readonly sender: OutcomeSender
  readonly matched: readonly MatchedFact[]
  readonly held: readonly OutcomeItem[]
  /** Ids of held items that are matched now. */
  readonly settled: readonly number[]
  /** Moves the progress of an import in the same transaction. */
  readonly progress?: (statuses: readonly ('accepted' | 'unchanged' | 'revised')[]) => ImportStep
}

/** A step of an import. */
export interface ImportStep {
  readonly importId: string
  /** The step is made only from here. */
  readonly fromOffset: number
  readonly offset: number
  readonly lines: number
  readonly counts: OutcomeCounts
  readonly errors: readonly { readonly line: number; readonly message: string }[]
}

export interface HeldItem {
  readonly id: number
  readonly item: OutcomeItem
  readonly sender: OutcomeSender
  readonly tries: number
}

export interface OutcomeStore {
  /** Definitions of the team with these ids, with their windows in months. */
  windowsOf(teamId: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Stores the facts in this order; one status for each. */
  write(write: OutcomeWrite): Promise<('accepted' | 'unchanged' | 'revised')[]>
  /** Held items whose turn it is, the longest waiting first. */
  due(nowMs: number, limit: number): Promise<readonly HeldItem[]>
  /** Sets the next try of held items, by id. */
  postpone(ids: readonly number[], nextTryAtMs: number): Promise<void>
  /** Removes what is held since before, and applicants that no definition needs any more. */
  purge(heldBeforeMs: number, nowMs: number): Promise<void>
  /** Removes a reference; returns the number of places. */
  eraseReference(teamId: string, reference: string): Promise<number>
}

const HELD_AT_A_TIME = 2_000
/** First and longest time between two tries of a held item. */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 3_600_000
const DAY_MS = 86_400_000
/** Requests that wait in a process: each can cost a pass over the log. */
const WAITING_MAX = 8

/** Takes outcomes and attaches them to the scores of their applicants. */
export class OutcomeService {
  private readonly matcher: OutcomeMatcher
  private readonly store: OutcomeStore
  private readonly clock: Clock
  private readonly holdMs: number
  /** One pass over the log at a time in each process. */
  private readonly turn = pLimit(1)

  /** @param holdDays how long an outcome waits for its score */
  constructor(matcher: OutcomeMatcher, store: OutcomeStore, clock: Clock, holdDays: number) {
    this.matcher = matcher
    this.store = store
    this.clock = clock
    this.holdMs = holdDays * DAY_MS
  }

  /**
   * Takes items; one result for each, in order. Faults of an item concern this item alone.
   *
   * @throws AppError `unavailable` when too many wait
   */
  async take(sender: OutcomeSender, values: readonly unknown[]): Promise<OutcomeResult[]> {
    if (this.turn.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'other outcomes are under way: try again in a minute')
    }
    const judged = await this.turn(async () => this.matched(sender, await itemsOf(values)))
    const matched = judged.flatMap(({ fact }) => (fact === null ? [] : [fact]))
    const held = judged.flatMap(({ held }) => (held === null ? [] : [held]))
    if (matched.length === 0 && held.length === 0) return judged.map(resultOf)
    const statuses = await this.store.write({ sender, matched, held, settled: [] })
    return withStatuses(judged, statuses)
  }

  /** Matches items that were read, and stores nothing; one answer for each, in order. */
  judge(sender: OutcomeSender, read: readonly ReadItem[]): Promise<JudgedItem[]> {
    return this.turn(() => this.matched(sender, read))
  }

  private async matched(sender: OutcomeSender, read: readonly ReadItem[]): Promise<JudgedItem[]> {
    const items = read.flatMap(({ item }) => (item === null ? [] : [item]))
    const named = items.map(({ fact }) => fact.definition).filter((id) => id !== '')
    const windows = await this.store.windowsOf(sender.teamId, [...new Set(named)])
    const faults = items.map((item) => definitionFault(item, windows))
    const valid = items.filter((_, index) => faults[index] === null)
    const matches = await this.matcher.match(
      sender,
      valid.map(({ target }) => target),
    )
    let [nextItem, nextMatch] = [0, 0]
    return read.map(({ item, fault }) => {
      if (item === null) return invalid(fault)
      const wrong = faults[nextItem++] ?? null
      if (wrong !== null) return invalid(wrong)
      const match = matches[nextMatch++]
      if (match === undefined) throw new Error('an outcome has no match')
      return judgedOf(item, match)
    })
  }

  /**
   * Tries held items whose turn it is; returns how many were attached. Where the items of a sender
   * fail, they are tried again later, and those of other senders go on.
   *
   * @param onFault receives the errors of such items
   * @throws AppError `unavailable`
   */
  async settle(onFault: (error: unknown) => void): Promise<number> {
    const nowMs = this.clock.epochMs()
    const due = await this.store.due(nowMs, HELD_AT_A_TIME)
    const groups = new Map<string, HeldItem[]>()
    for (const held of due) {
      const { teamId, environment, by } = held.sender
      const name = JSON.stringify([teamId, environment, by])
      groups.set(name, [...(groups.get(name) ?? []), held])
    }
    let attached = 0
    for (const group of groups.values()) {
      try {
        attached += await this.settleGroup(group, nowMs)
      } catch (error) {
        if (error instanceof AppError && error.code === 'unavailable') throw error
        onFault(error)
        await this.postpone(group, nowMs)
      }
    }
    return attached
  }

  /** Removes what is no longer needed. */
  purge(): Promise<void> {
    const nowMs = this.clock.epochMs()
    return this.store.purge(nowMs - this.holdMs, nowMs)
  }

  /** Takes a reference out of applicants and held outcomes; returns the number of places. */
  eraseReference(teamId: string, reference: string): Promise<number> {
    return this.store.eraseReference(teamId, reference)
  }

  private async settleGroup(group: readonly HeldItem[], nowMs: number): Promise<number> {
    const [first] = group
    if (first === undefined) return 0
    const { sender } = first
    const targets = group.map(({ item }) => item.target)
    const matches = await this.turn(() => this.matcher.match(sender, targets))
    const matched: MatchedFact[] = []
    const settled: number[] = []
    const waiting: HeldItem[] = []
    for (const [index, held] of group.entries()) {
      const match = matches[index]
      if (match?.kind === 'matched') {
        matched.push({ applicant: match.applicant, fact: held.item.fact })
        settled.push(held.id)
      } else waiting.push(held)
    }
    if (matched.length > 0) await this.store.write({ sender, matched, held: [], settled })
    await this.postpone(waiting, nowMs)
    return matched.length
  }

  /** The more often an item was tried, the later its next try. */
  private async postpone(group: readonly HeldItem[], nowMs: number): Promise<void> {
    const waiting = new Map<number, number[]>()
    for (const { id, tries } of group) {
      const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(tries, 20))
      waiting.set(pauseMs, [...(waiting.get(pauseMs) ?? []), id])
    }
    for (const [pauseMs, ids] of waiting) await this.store.postpone(ids, nowMs + pauseMs)
  }
}

async function itemsOf(values: readonly unknown[]): Promise<ReadItem[]> {
  const turns = new TurnTaker()
  const read: ReadItem[] = []
  for (const value of values) {
    read.push(readItem(value))
    if (turns.isOver) await turns.giveWay()
  }
  return read
}

/** An item that was matched and is not stored yet: a fact, an item to hold, or neither. */
export interface JudgedItem {
  readonly fact: MatchedFact | null
  readonly held: OutcomeItem | null
  readonly status: 'unmatched' | 'ambiguous' | 'invalid' | null
  readonly matchedOf: number | null
  readonly message: string | null
}

/** The results of judged items, with the statuses that their facts got when they were stored. */
export function withStatuses(
  judged: readonly JudgedItem[],
  statuses: readonly ('accepted' | 'unchanged' | 'revised')[],
): OutcomeResult[] {
  let next = 0
  return judged.map((one) => {
    if (one.fact === null) return resultOf(one)
    const status = statuses[next++]
    if (status === undefined) throw new Error('an outcome has no status')
    return { status, applicant: one.fact.applicant, matchedOf: one.matchedOf, message: null }
  })
}

export function countsOf(results: readonly { readonly status: OutcomeStatus }[]): OutcomeCounts {
  const counts = Object.fromEntries(OUTCOME_STATUSES.map((status) => [status, 0]))
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1
  return counts as Record<OutcomeStatus, number>
}

function resultOf({ status, message }: JudgedItem): OutcomeResult {
  return { status: status ?? 'invalid', applicant: null, matchedOf: null, message }
}

function invalid(message: string | null): JudgedItem {
  return { fact: null, held: null, status: 'invalid', matchedOf: null, message }
}

function judgedOf(item: OutcomeItem, match: Match): JudgedItem {
  if (match.kind === 'matched') {
    const fact = { applicant: match.applicant, fact: item.fact }
    return { fact, held: null, status: null, matchedOf: match.matchedOf, message: null }
  }
  const held = match.kind === 'unmatched' && match.isLater ? item : null
  return { fact: null, held, status: match.kind, matchedOf: null, message: match.message }
}

function definitionFault(
  { fact: { definition, content } }: OutcomeItem,
  windows: ReadonlyMap<string, number>,
): string | null {
  if (definition === '') return null
  const window = windows.get(definition)
  if (window === undefined) {
    return `the team has no definition "${definition.slice(0, 64)}": PUT it first`
  }
  const sent = content['window_months']
  if (sent === undefined || sent === window) return null
  return `window_months is ${window} in the definition "${definition}"`
}
