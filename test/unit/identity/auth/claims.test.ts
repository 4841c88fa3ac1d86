import { expect, test } from 'vitest'
import { highestRole, readIdentity } from '../../../../src/identity/auth/oidc/claims.ts'

const listGroups = (token: object, claim: string, userInfo: object = {}) =>
  readIdentity('s', { token: { ...token }, userInfo: { ...userInfo } }, claim).groups

// Keycloak has roles of a client in a path; Auth0 has a claim whose name is a URL with dots.
test('groups are read from a claim of this name, or from a path', () => {
  expect(listGroups({ groups: ['a', 'b'] }, 'groups')).toEqual(['a', 'b'])
  expect(listGroups({ groups: 'a' }, 'groups')).toEqual(['a'])
  const keycloak = { resource_access: { scoreline: { roles: ['admin'] } } }
  expect(listGroups(keycloak, 'resource_access.scoreline.roles')).toEqual(['admin'])
  const url = 'https://lender.example/groups'
  expect(listGroups({ [url]: ['a'] }, url)).toEqual(['a'])
})

test('anything but a list of texts gives no group', () => {
  for (const groups of [undefined, null, 7, {}, [7, null], { length: 1, 0: 'a' }]) {
    expect(listGroups({ groups }, 'groups')).toEqual([])
  }
  expect(listGroups({}, '__proto__.groups')).toEqual([])
  expect(listGroups({ a: 'text' }, 'a.length')).toEqual([])
})

// The user info is never older than the token: a group that was removed must not stay by the token.
test('groups of the user info count before those of the token, also when there are none', () => {
  expect(listGroups({ groups: ['a'] }, 'groups', { groups: ['b'] })).toEqual(['b'])
  expect(listGroups({ groups: ['a'] }, 'groups', { groups: [] })).toEqual([])
  expect(listGroups({ groups: ['a'] }, 'groups', {})).toEqual(['a'])
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
