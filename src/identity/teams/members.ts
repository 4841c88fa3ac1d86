import { AppError } from '../../errors.ts'
import { outranks, type Role } from '../../http/access/caller.ts'
import { refuseBreakGlass, requireManager } from '../../http/access/manager.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Passwords } from '../auth/passwords.ts'
import { hashPassword, readEmail } from './credentials.ts'
import type { Member, MemberChange, MemberStore, TeamState } from './member-store.ts'

/**
 * A manager of members: a user with their role, or the operator with null, who may do everything.
 */
interface Manager extends Actor {
  readonly role: Role | null
}

interface MemberOptions {
  readonly store: MemberStore
  readonly passwords: Passwords
  readonly clock: Clock
  /** Address of the owner who alone may sign in with a password; null: everybody may. */
  readonly breakGlassEmail: string | null
  /** Called with the id of each changed user, before the response is sent. */
  readonly onChange: (userId: string) => void
}

interface MemberInput {
  readonly email: string
  readonly password: string
  readonly role: Role
}

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
   *   invalid address or password; `passwords_off`; `member_exists` if a user of any team has the
   *   address
   */
  async create(manager: Manager, { email, password, role }: MemberInput): Promise<Member> {
    refuseAbove(manager.role, role)
    const { store, passwords, clock, breakGlassEmail } = this.options
    const address = readEmail(email)
    if (manager.role !== null) {
      refuseBreakGlass({ email: address }, breakGlassEmail)
      if (breakGlassEmail !== null) throw passwordsOff()
    }
    const passwordHash = await hashPassword(passwords, password, { email: address })
    const epochMs = clock.epochMs()
    const id = newId('usr_', epochMs)
    const createdAt = new Date(epochMs)
    const member = {
      id,
      teamId: manager.teamId,
      email: address,
      role,
      createdAt,
      lastSignInAt: null,
    }
    const after = { email: address, role }
    const audit = auditRecord(manager, { action: 'member.create', subject: id, after }, epochMs)
    const before = await store.change(manager, id, (state) => {
      refuseAbove(roleNow(manager, state), role)
      return { kind: 'add', member: { ...member, passwordHash }, audit }
    })
    if (before === null) throw memberExists()
    return member
  }

  /**
   * Changes the role of a member of the manager's team. This process applies it at once.
   *
   * @throws AppError `insufficient_role` if the old or the new role is above the manager's;
   *   `member_not_found` if the member is unknown or in another team; `last_owner`
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
   * Removes a member of the manager's team and ends their sessions. This process applies it at
   * once.
   *
   * @throws AppError `insufficient_role` if their role is above the manager's; `member_not_found`
   *   and `last_owner` like `setRole`
   */
  async remove(manager: Manager, memberId: string): Promise<void> {
    await this.change(manager, memberId, (member, state) => {
      refuseLastOwner(member, state)
      const what = { before: { email: member.email, role: member.role } }
      return { kind: 'remove', audit: this.audit(manager, 'member.delete', memberId, what) }
    })
  }

  /**
   * Sets a new password and ends the sessions of a member, with their access tokens.
   *
   * @param actorId id of the user who resets the password, or `OPERATOR`
   * @param email address of a member of any team
   * @throws AppError `member_not_found`; `invalid_request` for an invalid password
   */
  async resetPassword(actorId: string, email: string, password: string): Promise<Member> {
    const { store, passwords } = this.options
    const address = readEmail(email)
    const passwordHash = await hashPassword(passwords, password, { email: address })
    const found = await store.findByEmail(address)
    if (found === null) throw memberNotFound('there is no user with this email')
    const manager = { userId: actorId, teamId: found.teamId, role: null }
    return this.change(manager, found.id, () => {
      const audit = this.audit(manager, 'member.reset_password', found.id, {})
      return { kind: 'set_password', passwordHash, audit }
    })
  }

  /**
   * Changes a member whose role is not above the manager's.
   *
   * @returns the member before the change
   */
  private async change(
    manager: Manager,
    memberId: string,
    decide: (member: Member, state: TeamState) => MemberChange | null,
  ): Promise<Member> {
    if (!isId(memberId, 'usr_')) throw memberNotFound()
    const { store, onChange, breakGlassEmail } = this.options
    const before = await store.change(manager, memberId, (state) => {
      const { member } = state
      if (member === null) throw memberNotFound()
      refuseAbove(roleNow(manager, state), member.role)
      if (manager.role !== null) refuseBreakGlass(member, breakGlassEmail)
      return decide(member, state)
    })
    if (!before?.member) throw memberNotFound()
    onChange(memberId)
    return before.member
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

/** Error for an address that another user already has, in any team. */
export function memberExists(): AppError {
  return new AppError('member_exists', 'another user has this email: use a different one')
}

function passwordsOff(): AppError {
  return new AppError(
    'passwords_off',
    'passwords are switched off: let the new member sign in through the identity provider, which adds them',
  )
}

/** Null for the operator, who may do everything. */
function roleNow({ role }: Manager, { manager }: TeamState): Role | null {
  return role === null ? null : requireManager(manager).role
}

function memberNotFound(message = 'there is no member with this id'): AppError {
  return new AppError('member_not_found', message)
}

/**
 * Rejects granting, changing or removing a role above the manager's own.
 *
 * @param role role of the manager; null for the operator, who may manage every role
 * @throws AppError `insufficient_role`
 */
export function refuseAbove(role: Role | null, other: Role): void {
  if (role !== null && outranks(other, role)) {
    throw new AppError('insufficient_role', `the role ${role} may not manage the role ${other}`)
  }
}

function refuseLastOwner({ role }: Member, { ownersCount }: TeamState): void {
  if (role === 'owner' && ownersCount === 1) {
    throw new AppError(
      'last_owner',
      'the team must keep at least one owner: give another member the role owner first',
    )
  }
}
