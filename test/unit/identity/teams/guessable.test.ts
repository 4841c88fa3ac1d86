import { expect, test } from 'vitest'
import { isGuessable } from '../../../../src/identity/teams/guessable.ts'

const EMAIL = 'jane.doe@lender.example'

test.each([
  ...['12345678', '87654321', '123456789012', 'aaaaaaaaaaaa', 'abababababab', 'abcdefgh'],
  ...['password', 'Password1', 'P@ssw0rd!', 'passw0rd2026', 'Summer2026!', 'welcome123'],
  ...['qwertyuiop12', 'asdfghjkl', '1qaz2wsx3edc', 'admin1234', 'scoreline1', 'changeme'],
  ...['janedoe2026', 'Jane-Doe-1', 'lenderlender', 'passwordpassword', '        '],
])('%s is easy to guess', (password) => {
  expect(isGuessable(password, EMAIL)).toBe(true)
})

test.each([
  ...['a long password', 'kt4-vg7x', 'correct horse battery staple', 'Tr0ub4dor&3'],
  ...['jane rides to the sea', 'long enough, too', '🦄🐙🦜🌵🍉🎺🧭🪁'],
])('%s is not easy to guess', (password) => {
  expect(isGuessable(password, EMAIL)).toBe(false)
})
