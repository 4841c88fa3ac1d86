import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import { outranks, type Role } from '../auth/caller.ts'
import type { Passwords } from '../auth/passwords.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import type { Page, PageRequest } from '../paging.ts'
import { hashPassword, readEmail } from './credentials.ts'

/** A user as his team sees him. */
export interface Member {
  readonly id: string
  readonly teamId: string
  readonly email: string
  readonly role: Role
  readonly createdAt: Date
}

export type NewMember = Member & { readonly passwordHash: string }

/** Who manages members: a user of the team with his role, or with null the operator, who may all. */
export interface Manager extends Actor {
  readonly role: Role | null
}

/** What a change is decided on: true until the change is made. */
export interface TeamState {
  /** Who makes the change, as he is now; null when he is no member, as the operator is. */
  readonly manager: Member | null
  /** Whom the change is about; null when there is no such member. */
  readonly member: Member | null
  readonly ownersCount: number
}

export type MemberChange =
  | { readonly kind: 'add'; readonly member: NewMember; readonly audit: NewAuditRecord }
  | { readonly kind: 'set_role'; readonly role: Role; readonly audit: NewAuditRecord }
  | { readonly kind: 'remove'; readonly audit: NewAuditRecord }
  /** Ends all sessions of the member as well. */
  | { readonly kind: 'set_password'; readonly passwordHash: string; readonly audit: NewAuditRecord }

/** What the service needs of the database. */
export interface MemberStore {
  /** The members of a team, newest first. */
  list(teamId: string, page: PageRequest): Promise<Page<Member>>
  /** By address, in any team. */
  findByEmail(email: string): Promise<Member | null>
  /**
   * Shows `decide` the team as it is and makes the change it answers, with its audit record: one
   * transaction, which no other change in the team overlaps. Null, or what it throws, changes nothing.
   *
   * @param memberId whom the change is about
   * @returns false when the address of a member to be added is taken
   */
  change(
    manager: Actor,
    memberId: string,
    decide: (state: TeamState) => MemberChange | null,
  ): Promise<boolean>
}

export interface MemberOptions {
  readonly store: MemberStore
  readonly passwords: Passwords
  readonly clock: Clock
  /** Told of each user that changed, before the change is answered. */
  readonly onChange: (userId: string) => void
}

export interface MemberOrder {
  readonly email: string
  readonly password: string
  readonly role: Role
}

/** Members of teams: who they are, and what each may do. */
export class MemberService {
  private readonly options: MemberOptions

  constructor(options: MemberOptions) {
    this.options = options
  }

  /** The team's members, newest first. */
  list(teamId: string, page: PageRequest): Promise<Page<Member>> {
    return this.options.store.list(teamId, page)
  }

  /**
   * Adds a member to the manager's team.
   *
   * @throws AppError `insufficient_role` for a role above the manager's; `invalid_request` for an
   *   address or a password that can be none; `member_exists` for an address of any team
   */
  async create(manager: Manager, { email, password, role }: MemberOrder): Promise<Member> {
    refuseAbove(manager.role, role)
    const { store, passwords, clock } = this.options
    const address = readEmail(email)
    const passwordHash = await hashPassword(passwords, password)
    const epochMs = clock.epochMs()
    const id = newId('usr_', epochMs)
    const createdAt = new Date(epochMs)
    const member = { id, teamId: manager.teamId, email: address, role, createdAt }
    const after = { email: address, role }
    const audit = auditRecord(manager, { action: 'member.create', subject: id, after }, epochMs)
    const isAdded = await store.change(manager, id, (state) => {
      refuseAbove(roleNow(manager, state), role)
      return { kind: 'add', member: { ...member, passwordHash }, audit }
    })
    if (!isAdded) throw memberExists()
    return member
  }

  /**
   * Gives a member of the manager's team another role, in force at once in this process.
   *
   * @throws AppError `insufficient_role` when the new or the old role is above the manager's;
   *   `member_not_found` for one that is unknown or of another team; `last_owner`
   */
  async setRole(manager: Manager, memberId: string, role: Role): Promise<Member> {
    refuseAbove(manager.role, role)
    const before = await this.change(manager, memberId, (member, state) => {
      refuseAbove(roleNow(manager, state), role)
      if (member.role === role) return null
      if (role !== 'owner') refuseLastOwner(member, state)
      const what = { before: { role: member.role }, after: { role } }
      return { kind: 'set_role', role, audit: this.audit(manager, 'member.update', memberId, what) }
    })
    return { ...before, role }
  }

  /**
   * Removes a member of the manager's team and ends his sessions, at once in this process.
   *
   * @throws AppError `insufficient_role` when his role is above the manager's; `member_not_found` and
   *   `last_owner` as `setRole`
   */
  async remove(manager: Manager, memberId: string): Promise<void> {
    await this.change(manager, memberId, (member, state) => {
      refuseLastOwner(member, state)
      const what = { before: { email: member.email, role: member.role } }
      return { kind: 'remove', audit: this.audit(manager, 'member.delete', memberId, what) }
    })
  }

  /**
   * Gives a member another password and ends his sessions: his refresh tokens are void, access tokens
   * that he has go on until they expire.
   *
   * @param actorId who does it
   * @param email of a member of any team
   * @throws AppError `member_not_found`; `invalid_request` for a password that can be none
   */
  async resetPassword(actorId: string, email: string, password: string): Promise<Member> {
    const { store, passwords } = this.options
    const passwordHash = await hashPassword(passwords, password)
    const found = await store.findByEmail(readEmail(email))
    if (found === null) throw memberNotFound('there is no user with this email')
    const manager = { userId: actorId, teamId: found.teamId, role: null }
    return this.change(manager, found.id, () => {
      const audit = this.audit(manager, 'member.reset_password', found.id, {})
      return { kind: 'set_password', passwordHash, audit }
    })
  }

  /** Changes a member whom the manager may change; answers him as he was before. */
  private async change(
    manager: Manager,
    memberId: string,
    decide: (member: Member, state: TeamState) => MemberChange | null,
  ): Promise<Member> {
    if (!isId(memberId, 'usr_')) throw memberNotFound()
    const { store, onChange } = this.options
    const before: Member[] = []
    await store.change(manager, memberId, (state) => {
      const { member } = state
      if (member === null) throw memberNotFound()
      refuseAbove(roleNow(manager, state), member.role)
      before[0] = member
      return decide(member, state)
    })
    const [member] = before
    if (member === undefined) throw new TypeError('the store did not ask for a decision')
    onChange(memberId)
    return member
  }

  private audit(
    actor: Actor,
    action: 'member.update' | 'member.delete' | 'member.reset_password',
    subject: string,
    what: { readonly before?: object; readonly after?: object },
  ): NewAuditRecord {
    return auditRecord(actor, { action, subject, ...what }, this.options.clock.epochMs())
  }
}

/** For an address that a user of any team has. */
export function memberExists(): AppError {
  return new AppError('member_exists', 'there is a user with this email already')
}

function memberNotFound(message = 'there is no member with this id'): AppError {
  return new AppError('member_not_found', message)
}

/**
 * What the manager may do at the moment of the change. His token may be older than his demotion, and by
 * it he could undo that.
 */
function roleNow({ role }: Manager, { manager }: TeamState): Role | null {
  if (role === null) return null
  if (manager === null) throw new AppError('unauthorized', 'the signed-in user was removed')
  if (manager.role !== 'owner' && manager.role !== 'admin') {
    throw new AppError('insufficient_role', 'this needs the role owner or admin')
  }
  return manager.role
}

/**
 * Holds a manager to his own role: nobody grants, changes or removes what is above it.
 *
 * @param role of the manager; null for the operator, who is above all
 * @throws AppError `insufficient_role`
 */
export function refuseAbove(role: Role | null, other: Role): void {
  if (role !== null && outranks(other, role)) {
    throw new AppError('insufficient_role', `the role ${role} may not manage the role ${other}`)
  }
}

function refuseLastOwner({ role }: Member, { ownersCount }: TeamState): void {
  if (role === 'owner' && ownersCount === 1) {
    throw new AppError('last_owner', 'a team keeps at least one owner: make another one first')
  }
}
