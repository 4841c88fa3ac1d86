import pLimit from 'p-limit'
import { isAway, serviceBusy } from '../errors.ts'
import { backOffMs } from '../platform/back-off.ts'
import type { Clock } from '../platform/clock.ts'
import { TurnTaker } from '../platform/turn-taker.ts'
import type { ScoredApplicant } from './applicant.ts'
import type { MatchedFact, OutcomeSender } from './fact-writer.ts'
import type { HeldItem, Holding, OutcomeWritten } from './held-items.ts'
import { type OutcomeItem, type OutcomeStatus, type ReadItem, readItem } from './item.ts'
import type { Match, OutcomeMatcher } from './matcher.ts'
import type { OutcomeStore } from './store.ts'

export type { OutcomeDefinition } from './store.ts'

export interface OutcomeResult {
  readonly status: OutcomeStatus
  readonly applicant: ScoredApplicant | null
  /** Null without an applicant. */
  readonly matchedOf: number | null
  readonly message: string | null
  /** True if it is unmatched and will not be tried again, although its score may come. */
  readonly isDropped: boolean
}

/** All teams together; each has its share. */
const HELD_AT_A_TIME = 2_000
/** A pass over the log takes minutes at most. */
const LEASE_MS = 300_000
/** One try in so many reads the whole log: once a day, as tries are an hour apart. */
const TRIES_A_WHOLE = 24
/** Other tries read what was scored from a day before the last one: a spool may be drained late. */
const LATE_MS = 86_400_000
/** Rows that one statement removes, so that it ends soon. */
const REMOVED_AT_A_TIME = 2_000
const IMPORTS_KEPT_MS = 90 * 86_400_000
/** First and longest time between two tries of a held item. */
const PAUSES = { minMs: 1_000, maxMs: 3_600_000 }
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
      throw serviceBusy()
    }
    const receivedAtMs = this.clock.epochMs()
    const judged = await this.turn(async () =>
      this.matched(sender, await listItems(values, receivedAtMs)),
    )
    const matched = judged.flatMap(({ fact }) => (fact === null ? [] : [fact]))
    const held = judged.flatMap(({ held }) => (held === null ? [] : [held]))
    if (matched.length === 0 && held.length === 0) return judged.map(makeResult)
    const written = await this.store.write({ sender, matched, held, receivedAtMs, settled: [] })
    return withStatuses(judged, written)
  }

  /** Matches items that were read, and stores nothing; one answer for each, in order. */
  judge(sender: OutcomeSender, read: readonly ReadItem[]): Promise<JudgedItem[]> {
    return this.turn(() => this.matched(sender, read))
  }

  private async matched(sender: OutcomeSender, read: readonly ReadItem[]): Promise<JudgedItem[]> {
    const items = read.flatMap(({ item }) => (item === null ? [] : [item]))
    const named = items.map(({ fact }) => fact.definition).filter((id) => id !== '')
    const windows = await this.store.readWindows(sender.teamId, [...new Set(named)])
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
      return judgeItem(item, match)
    })
  }

  /**
   * Tries held items whose turn it is; returns how many were attached. A score that was not in the
   * log at the last try is new there: most tries read the newest part alone. Where the items of a
   * sender fail, they are tried again later, and those of other senders go on.
   *
   * @param onFault receives the errors of such items
   * @throws AppError `unavailable`
   */
  async settle(onFault: (error: unknown) => void): Promise<number> {
    const nowMs = this.clock.epochMs()
    const order = { nowMs, leaseMs: LEASE_MS, limit: HELD_AT_A_TIME }
    const due = await this.store.takeDue(order)
    const groups = new Map<string, HeldItem[]>()
    for (const held of due) {
      const { teamId, environment, by } = held.sender
      const name = JSON.stringify([teamId, environment, by, isWholeTry(held)])
      groups.set(name, [...(groups.get(name) ?? []), held])
    }
    let attached = 0
    for (const group of groups.values()) {
      try {
        attached += await this.settleGroup(group, nowMs)
      } catch (error) {
        if (isAway(error)) throw error
        onFault(error)
        await this.postpone(group, nowMs)
      }
    }
    return attached
  }

  /**
   * Removes a part of what is no longer needed.
   *
   * @returns whether more may be left
   */
  purge(): Promise<boolean> {
    const nowMs = this.clock.epochMs()
    const heldBeforeMs = nowMs - this.holdMs
    const importsBeforeMs = nowMs - IMPORTS_KEPT_MS
    return this.store.removeExpired({ heldBeforeMs, importsBeforeMs, nowMs }, REMOVED_AT_A_TIME)
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
    const sinceMs = isWholeTry(first)
      ? Number.NEGATIVE_INFINITY
      : Math.min(...group.map(({ triedAtMs }) => triedAtMs)) - LATE_MS
    const matches = await this.turn(() => this.matcher.match(sender, targets, sinceMs))
    const matched: MatchedFact[] = []
    const settled: number[] = []
    const waiting: HeldItem[] = []
    for (const [index, held] of group.entries()) {
      const match = matches[index]
      if (match?.kind === 'matched') {
        const { item, heldAtMs } = held
        matched.push({ applicant: match.applicant, fact: item.fact, heldAtMs })
        settled.push(held.id)
      } else waiting.push(held)
    }
    if (matched.length > 0) {
      await this.store.write({ sender, matched, held: [], receivedAtMs: nowMs, settled })
    }
    await this.postpone(waiting, nowMs)
    return matched.length
  }

  /** The more often an item was tried, the later its next try. */
  private async postpone(group: readonly HeldItem[], nowMs: number): Promise<void> {
    const waiting = new Map<number, number[]>()
    for (const { id, tries } of group) {
      const pauseMs = backOffMs(PAUSES, tries)
      waiting.set(pauseMs, [...(waiting.get(pauseMs) ?? []), id])
    }
    for (const [pauseMs, ids] of waiting) {
      await this.store.postpone(ids, { nowMs, nextTryAtMs: nowMs + pauseMs })
    }
  }
}

async function listItems(values: readonly unknown[], nowMs: number): Promise<ReadItem[]> {
  const turns = new TurnTaker()
  const read: ReadItem[] = []
  for (const value of values) {
    read.push(readItem(value, nowMs))
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

/** The results of judged items, with what became of their facts and of those to hold. */
export function withStatuses(
  judged: readonly JudgedItem[],
  { statuses, holdings }: OutcomeWritten,
): OutcomeResult[] {
  let [nextFact, nextHeld] = [0, 0]
  return judged.map((one) => {
    if (one.held !== null) return makeHeldResult(one, holdings[nextHeld++] ?? 'held')
    if (one.fact === null) return makeResult(one)
    const status = statuses[nextFact++]
    if (status === undefined) throw new Error('an outcome has no status')
    const { applicant } = one.fact
    return { status, applicant, matchedOf: one.matchedOf, message: null, isDropped: false }
  })
}

function makeResult({ status, message }: JudgedItem): OutcomeResult {
  return {
    status: status ?? 'invalid',
    applicant: null,
    matchedOf: null,
    message,
    isDropped: false,
  }
}

const DROPPED: Readonly<Record<Exclude<Holding, 'held'>, string>> = {
  full: 'no score of the team is known by this name, and too many outcomes of the team wait for theirs: send it again when the score is there',
  long: 'no score of the team is known by this name, and the outcome is too long to wait for it: send it again when the score is there, or with less text',
  erased: 'the reference was erased while this outcome was on its way: it is not tried again',
}

function makeHeldResult(one: JudgedItem, holding: Holding): OutcomeResult {
  const result = makeResult(one)
  return holding === 'held' ? result : { ...result, message: DROPPED[holding], isDropped: true }
}

/** Tells whether the whole log is read for an item, also for scores that came into it late. */
function isWholeTry({ tries }: HeldItem): boolean {
  return tries > 0 && tries % TRIES_A_WHOLE === 0
}

function invalid(message: string | null): JudgedItem {
  return { fact: null, held: null, status: 'invalid', matchedOf: null, message }
}

function judgeItem(item: OutcomeItem, match: Match): JudgedItem {
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
