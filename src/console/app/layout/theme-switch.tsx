import { NativeSelect, useMantineColorScheme } from '@mantine/core'

const THEMES = [
  { value: 'auto', label: 'Theme of the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

export function ThemeSwitch() {
  // Without transitions it would add a style, which the policy of the page forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <NativeSelect
      size="xs"
      aria-label="Theme"
      data={[...THEMES]}
      value={colorScheme}
      onChange={({ currentTarget }) => {
        const chosen = THEMES.find(({ value }) => value === currentTarget.value)
        setColorScheme(chosen?.value ?? 'auto')
      }}
    />
  )
}
