import unittest

from sailing import speed


class Speed(unittest.TestCase):
    def test_a_mile_an_hour_is_a_knot(self):
        self.assertAlmostEqual(speed.knots(1852 / 3600), 1.0)

    def test_nobody_moves_at_no_speed(self):
        self.assertEqual(speed.knots(0), 0)
