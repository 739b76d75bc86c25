"""Bookings of the kilns."""

MAX_DAYS_AHEAD = 21
CANCEL_HOURS = 36


class KilnCalendar:
    def __init__(self, store):
        self.store = store

    def book(self, member, day):
        # Two bookings a week are enough for one member.
        if self.store.count(member, week_of(day)) >= 2:
            raise TooManyBookings(member)
        self.store.add(member, day)

    def cancel(self, booking, now):
        # Late cancellation costs the full load price.
        return booking.starts_in(now).hours >= CANCEL_HOURS
