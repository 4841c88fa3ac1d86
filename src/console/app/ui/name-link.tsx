import { Link } from '@tanstack/react-router'

/** A link to a thing by its name, which may run from right to left. */
export function NameLink({ to, name }: { to: string; name: string }) {
  return (
    <Link to={to}>
      <bdi>{name}</bdi>
    </Link>
  )
}
