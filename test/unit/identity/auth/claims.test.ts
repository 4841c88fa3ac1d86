import { expect, test } from 'vitest'
import { highestRole, identityOf } from '../../../src/auth/oidc/claims.ts'

const groupsOf = (token: object, claim: string, userInfo: object = {}) =>
  identityOf('s', { token: { ...token }, userInfo: { ...userInfo } }, claim).groups

// Keycloak has roles of a client in a path; Auth0 has a claim whose name is a URL with dots.
test('groups are read from a claim of this name, or from a path', () => {
  expect(groupsOf({ groups: ['a', 'b'] }, 'groups')).toEqual(['a', 'b'])
  expect(groupsOf({ groups: 'a' }, 'groups')).toEqual(['a'])
  const keycloak = { resource_access: { scoreline: { roles: ['admin'] } } }
  expect(groupsOf(keycloak, 'resource_access.scoreline.roles')).toEqual(['admin'])
  const url = 'https://lender.example/groups'
  expect(groupsOf({ [url]: ['a'] }, url)).toEqual(['a'])
})

test('anything but a list of texts gives no group', () => {
  for (const groups of [undefined, null, 7, {}, [7, null], { length: 1, 0: 'a' }]) {
    expect(groupsOf({ groups }, 'groups')).toEqual([])
  }
  expect(groupsOf({}, '__proto__.groups')).toEqual([])
  expect(groupsOf({ a: 'text' }, 'a.length')).toEqual([])
})

// The user info is never older than the token: a group that was removed must not stay by the token.
test('groups of the user info count before those of the token, also when there are none', () => {
  expect(groupsOf({ groups: ['a'] }, 'groups', { groups: ['b'] })).toEqual(['b'])
  expect(groupsOf({ groups: ['a'] }, 'groups', { groups: [] })).toEqual([])
  expect(groupsOf({ groups: ['a'] }, 'groups', {})).toEqual(['a'])
})

test('the highest role of all groups counts, in any order, and no group counts as nothing', () => {
  const roles = new Map([
    ['v', 'viewer'],
    ['o', 'owner'],
    ['m', 'modeler'],
  ] as const)
  expect(highestRole(['v', 'x', 'o', 'm'], roles)).toBe('owner')
  expect(highestRole(['m', 'v'], roles)).toBe('modeler')
  expect(highestRole(['x', '', 'O', '/o'], roles)).toBeNull()
  expect(highestRole([], roles)).toBeNull()
})
